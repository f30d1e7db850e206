/** A path inside an object: member names and indexes. */
export type FieldPath = readonly (string | number)[]

const plainMember = /^[A-Za-z_][A-Za-z0-9_-]*$/

/**
 * `spec.backends[1].weight`; members that are not plain words are quoted: `metadata.labels["app.kubernetes.io/name"]`.
 */
export function formatFieldPath(path: FieldPath): string {
  let text = ''
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`
    else if (plainMember.test(segment)) text += text === '' ? segment : `.${segment}`
    else text += `[${JSON.stringify(segment)}]`
  }
  return text
}

/**
 * The inverse of {@link formatFieldPath}. Parts that are not a path end the result: what was understood so far still leads
 * near the place.
 */
export function parseFieldPath(text: string): FieldPath {
  const segments: (string | number)[] = []
  const token = /\.?([A-Za-z_][A-Za-z0-9_-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y
  while (token.lastIndex < text.length) {
    const match = token.exec(text)
    if (match === null) break
    const [, member, index, quoted] = match
    if (member !== undefined) segments.push(member)
    else if (index !== undefined) segments.push(Number(index))
    else if (quoted !== undefined) {
      const name = memberName(quoted)
      if (name === undefined) break
      segments.push(name)
    }
  }
  return segments
}

/** The name in quotes; undefined for what is not text of JSON, such as one with an escape that JSON lacks. */
function memberName(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted) as string
  } catch {
    return undefined
  }
}

/**
 * The segments of a JSON pointer below `base`. Indexes are told from names by looking at the value that they lead into.
 */
export function fromJsonPointer(base: FieldPath, pointer: string, value: unknown): FieldPath {
  const segments: (string | number)[] = [...base]
  let current = value
  for (const raw of pointer.split('/').slice(1)) {
    const name = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    segments.push(Array.isArray(current) ? Number(name) : name)
    current = current !== null && typeof current === 'object' ? (current as Record<string, unknown>)[name] : undefined
  }
  return segments
}
