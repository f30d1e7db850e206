import type { JsonValue } from '../src/policy/index.js'

const width = 108

/** JSON as a reader likes it: on one line where it fits, else one member per line. Prettier leaves it as it is. */
export function formatJson(value: JsonValue, indent = ''): string {
  const line = inline(value)
  if (indent.length + line.length <= width && !mustBreak(value)) return line
  const inner = `${indent}  `
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => `${inner}${formatJson(item, inner)}`)
    return `[\n${items.join(',\n')}\n${indent}]`
  }
  const members = Object.entries(value as Readonly<Record<string, JsonValue>>).map(
    ([name, member]) => `${inner}${JSON.stringify(name)}: ${formatJson(member, inner)}`,
  )
  return `{\n${members.join(',\n')}\n${indent}}`
}

function inline(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item: JsonValue) => inline(item)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${inline(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** Prettier never puts several objects of several members on one line. */
function mustBreak(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return false
  const items: readonly JsonValue[] = Object.values<JsonValue>(value)
  const isTable =
    Array.isArray(value) && items.length > 1 && items.every((item) => isObject(item) && Object.keys(item).length > 1)
  return isTable || items.some(mustBreak)
}

function isObject(value: JsonValue): value is Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
