import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

import { isObject, type JsonObject } from '@osm-ts/injector'
import { type Document, parseAllDocuments } from 'yaml'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { cliError } from '../errors.js'
import { STANDARD_INPUT, STANDARD_INPUT_NAME } from '../spec/input-files.js'

/** Aliases can make a small file a huge object. */
const MAX_ALIASES = 1000

/**
 * The Kubernetes objects of a YAML or JSON file, those of lists by themselves.
 *
 * @param file - a path, or `-` for standard input
 * @throws OsmError `OSM_CLI_INPUT`
 */
export function readKubernetesObjects(file: string, cwd: string): readonly JsonObject[] {
  const name = file === STANDARD_INPUT ? STANDARD_INPUT_NAME : file
  // Keys that are mappings or lists are faults: as values they would take time that grows with the fourth power of their depth.
  return parseAllDocuments(textOf(file, cwd, name), { stringKeys: true }).flatMap((document) => {
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

function textOf(file: string, cwd: string, name: string): string {
  try {
    return readFileSync(file === STANDARD_INPUT ? 0 : resolve(cwd, file), 'utf8')
  } catch (error) {
    throw unusable(`${name} cannot be read: ${errorMessage(error)}`)
  }
}

function flatten(value: JsonObject, name: string): readonly JsonObject[] {
  if (!isObject(value) || typeof value.kind !== 'string') throw unusable(`${name} contains an object without a kind`)
  if (!value.kind.endsWith('List') || !Array.isArray(value.items)) return [value]
  return value.items.flatMap((item) => flatten(item as JsonObject, name))
}

function unusable(message: string): Error {
  return cliError('OSM_CLI_INPUT', message, 'give YAML or JSON as printed by `kubectl get -o yaml`')
}
