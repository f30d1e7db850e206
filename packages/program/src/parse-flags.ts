import { parseArgs } from 'node:util'

import { OsmError } from '@osm-ts/driver-api'
import { didYouMean, isDnsDomain, isDnsLabel, isDnsSubdomain, quoted } from '@osm-ts/core'

import type { ProgramErrorCode } from './error-codes.js'
import { camelCase, type FlagDefinition, type FlagDefinitions, type FlagValues } from './flag-definitions.js'

const TRUE = new Set(['true', 't', '1'])
const FALSE = new Set(['false', 'f', '0'])

/**
 * Reads a command line of `--name=value`, `--name value` and, for switches, `--name`. As in OSM the last one counts where a
 * flag stands twice. Programs take no arguments other than flags.
 *
 * @throws OsmError with code `OSM_PROGRAM_FLAG`, naming the flag
 */
export function parseFlags<const Definitions extends FlagDefinitions>(
  argv: readonly string[],
  definitions: Definitions,
): FlagValues<Definitions> {
  const texts = readTexts(argv, definitions)
  const values = Object.entries(definitions).map(([name, definition]) => {
    const text = texts.get(name)
    return [camelCase(name), text === undefined ? defaultOf(name, definition) : valueOf(name, definition, text)]
  })
  return Object.fromEntries(values) as FlagValues<Definitions> // each value was read by its definition
}

function readTexts(argv: readonly string[], definitions: FlagDefinitions): ReadonlyMap<string, string> {
  const options = Object.entries(definitions).map(
    ([name, { kind }]) => [name, { type: kind === 'switch' ? 'boolean' : 'string' }] as const,
  )
  // Not strict: its errors have other words for each fault, no suggestion, and repeat values, which may be secret.
  const { tokens } = parseArgs({ args: [...argv], options: Object.fromEntries(options), strict: false, tokens: true })
  const texts = new Map<string, string>()
  for (const token of tokens) {
    const written = argv[token.index] ?? ''
    if (token.kind !== 'option' || !token.rawName.startsWith('--'))
      throw refuse(`${quoted(written)} is not a flag; flags have the form --name=value`)
    const { name, rawName } = token
    const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (definition === undefined)
      throw refuse(`unknown flag ${quoted(rawName)}${didYouMean(name, Object.keys(definitions))}`)
    const text = token.value ?? (definition.kind === 'switch' ? 'true' : undefined)
    if (text === undefined) throw refuse(`${rawName} needs a value`)
    texts.set(name, text)
  }
  return texts
}

function defaultOf(name: string, definition: FlagDefinition): string | number | boolean {
  if (definition.default === undefined) throw refuse(`--${name} is required: ${definition.meaning}`)
  return definition.default
}

function valueOf(name: string, definition: FlagDefinition, text: string): string | number | boolean {
  const shown = definition.secret === true ? '(a secret)' : quoted(text)
  switch (definition.kind) {
    case 'switch': {
      const lower = text.toLowerCase()
      if (TRUE.has(lower)) return true
      if (FALSE.has(lower)) return false
      throw refuse(`--${name}=${shown}: expected true or false`)
    }
    case 'number': {
      const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
      if (value >= definition.min && value <= definition.max) return value
      throw refuse(`--${name}=${shown}: expected a whole number from ${definition.min} to ${definition.max}`)
    }
    case 'choice':
      if (definition.values.includes(text)) return text
      throw refuse(`--${name}=${shown}: expected one of ${definition.values.join(', ')}`)
    case 'text': {
      if (text === '' && definition.default === undefined) throw refuse(`--${name} must not be empty`)
      const fault = text === definition.default ? undefined : formFault(definition.form, text)
      if (fault !== undefined) throw refuse(`--${name}=${shown}: expected ${fault}`)
      return text
    }
  }
}

function formFault(form: (FlagDefinition & { kind: 'text' })['form'], text: string): string | undefined {
  switch (form) {
    case 'dns-label':
      return isDnsLabel(text) ? undefined : '1 to 63 lower-case letters, digits and inner hyphens'
    case 'dns-subdomain':
      return isDnsSubdomain(text) ? undefined : 'the name of a Kubernetes object: lower-case labels joined by dots'
    case 'dns-domain':
      return isDnsDomain(text) ? undefined : 'lower-case DNS labels of at most 63 characters joined by dots'
    case undefined:
      return undefined
  }
}

function refuse(message: string): OsmError {
  return new OsmError<ProgramErrorCode>('OSM_PROGRAM_FLAG', message)
}
