import type { FlagDefinition, FlagDefinitions } from './flag-definitions.js'

/** The text of `--help`. */
export function usage(program: string, definitions: FlagDefinitions): string {
  const rows = Object.entries(definitions).map(([name, definition]) => {
    const values = definition.kind === 'choice' ? ` (${definition.values.join(', ')})` : ''
    return `  --${name}\n      ${definition.meaning}${values}; ${defaultText(definition)}\n`
  })
  return `Usage: ${program} [--name=value ...]\n\n${rows.join('')}`
}

function defaultText(definition: FlagDefinition): string {
  if (definition.default === undefined) return 'required'
  return definition.default === '' ? 'empty by default' : `by default ${definition.default}`
}
