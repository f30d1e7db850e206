const WIDTH = 118

/** JSON for people: what fits on a line stands on one. */
export function compactJson(value: unknown, indent = ''): string {
  const line = oneLine(value)
  if (indent.length + line.length <= WIDTH || typeof value !== 'object' || value === null) return line
  const inner = `${indent}  `
  const items = Array.isArray(value)
    ? value.map((item) => compactJson(item, inner))
    : Object.entries(value).flatMap(([name, member]) =>
        member === undefined ? [] : [`${JSON.stringify(name)}: ${compactJson(member, inner)}`],
      )
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${value.map(oneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  if (members.length === 0) return '{}'
  return `{ ${members.map(([name, member]) => `${JSON.stringify(name)}: ${oneLine(member)}`).join(', ')} }`
}
