import { isObject, type JsonObject } from '@osm-ts/injector'
import { type Document, parseAllDocuments } from 'yaml'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { cliError } from '../errors.js'
import { type InputContext, readInput, STANDARD_INPUT, STANDARD_INPUT_NAME } from '../spec/input-files.js'

/** Aliases can make a small file a huge object. */
const MAX_ALIASES = 1000
const HINT = 'give YAML or JSON as printed by `kubectl get -o yaml`'

/**
 * Reads the Kubernetes objects of a YAML or JSON file, and those of its lists.
 *
 * @param file - a path, or `-` for standard input
 * @throws OsmError `OSM_CLI_INPUT`
 */
export async function readKubernetesObjects(file: string, context: InputContext): Promise<readonly JsonObject[]> {
  const text = await readInput(file, context, HINT)
  return parseKubernetesObjects(text, file === STANDARD_INPUT ? STANDARD_INPUT_NAME : file)
}

/** Parses what {@link readKubernetesObjects} reads. Errors refer to the input by the name. */
export function parseKubernetesObjects(text: string, name: string): readonly JsonObject[] {
  // Keys that are mappings or lists are faults: as values they would take time that grows with the fourth power of their depth.
  return parseAllDocuments(text, { stringKeys: true }).flatMap((document) => {
    const [fault] = document.errors
    if (fault !== undefined) throw unusable(`${name} is not valid YAML: ${fault.message.split('\n')[0] ?? ''}`)
    const value = valueOf(document, name)
    return value === null || value === undefined ? [] : flatten(value as JsonObject, name)
  })
}

/** An alias of an anchor that is not there is noticed only now, and so are too many of them. */
function valueOf(document: Document.Parsed, name: string): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) as unknown
  } catch (error) {
    throw unusable(`${name} is not valid YAML: ${errorMessage(error)}`)
  }
}

function flatten(value: JsonObject, name: string): readonly JsonObject[] {
  if (!isObject(value) || typeof value.kind !== 'string') throw unusable(`${name} contains an object without a kind`)
  if (!value.kind.endsWith('List') || !Array.isArray(value.items)) return [value]
  return value.items.flatMap((item) => flatten(item as JsonObject, name))
}

function unusable(message: string): Error {
  return cliError('OSM_CLI_INPUT', message, HINT)
}
