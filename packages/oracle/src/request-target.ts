/** What the mesh makes of the target of a request: the path that rules are about, or why it is refused. */
export type RequestTarget =
  | {
      readonly refused: false
      readonly path: string
      readonly query: string
      /** What an application may take the path for that reads escapes before it looks for slashes. None where no slash is escaped. */
      readonly readings: readonly string[]
    }
  | { readonly refused: true; readonly reason: string }

const SLASH = 0x2f
const BACKSLASH = 0x5c
const NUL = 0
const PERCENT = 0x25
const HASH = 0x23
const SEMICOLON = 0x3b
const DOT = 0x2e
const FIRST_PRINTABLE = 0x21
const DEL = 0x7f

/**
 * Reads the target of a request byte by byte, as a careful server would. A path that two servers could read differently is refused: one that an
 * escape hides a separator in, one with a segment that names a folder above, and one that is not text.
 *
 * @param target - path and query as they were sent; bytes where they may be no text
 * @param keepsEscapedSlashes - true: a separator that an escape hides is one more way to read the path, and no reason to refuse it
 */
export function readTarget(target: string | Uint8Array, keepsEscapedSlashes = false): RequestTarget {
  const sent = typeof target === 'string' ? Buffer.from(target) : Buffer.from(target)
  const question = sent.indexOf('?')
  const raw = question === -1 ? sent : sent.subarray(0, question)
  const query = question === -1 ? '' : sent.subarray(question).toString('latin1')
  if (raw[0] !== SLASH) return refused('it does not begin with a slash')
  if (raw.includes(HASH) || query.includes('#')) return refused('it has a fragment')
  if (raw.some((byte) => byte < FIRST_PRINTABLE || byte === DEL))
    return refused('it has a space or a control character')
  if (raw.includes(BACKSLASH)) return refused('it has a backslash')
  if (raw.length > 1 && raw.every((byte) => byte === SLASH)) return refused('it is nothing but slashes')
  const decoded: number[] = []
  let hidden = 0
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at] ?? NUL
    if (byte !== PERCENT) {
      decoded.push(byte)
      continue
    }
    const digits = raw.subarray(at + 1, at + 3).toString('latin1')
    if (!/^[0-9a-f]{2}$/i.test(digits)) return refused('it has a percent sign that begins no escape')
    const escaped = Number.parseInt(digits, 16)
    const hides = escaped === SLASH || escaped === BACKSLASH
    if (escaped === NUL || (hides && !keepsEscapedSlashes)) return refused('it has an escaped slash, backslash or NUL')
    decoded.push(hides ? SLASH : escaped)
    if (hides) hidden += 1
    at += 2
  }
  if (!isUtf8(Buffer.from(decoded))) return refused('it is not UTF-8')
  if (segments(decoded).some(leadsElsewhere)) return refused('it has a segment of dots')
  const path = merged(raw)
  return { refused: false, path, query, readings: hidden === 0 ? [] : plainReadings(path) }
}

function refused(reason: string): RequestTarget {
  return { refused: true, reason }
}

function segments(path: readonly number[]): readonly (readonly number[])[] {
  const found: number[][] = [[]]
  for (const byte of path) {
    if (byte === SLASH) found.push([])
    else found.at(-1)?.push(byte)
  }
  return found
}

/** `.` and `..`, with parameters too: some servers cut those off before they look at segments. */
function leadsElsewhere(segment: readonly number[]): boolean {
  const end = segment.indexOf(SEMICOLON)
  const name = end === -1 ? segment : segment.slice(0, end)
  return (name.length === 1 || name.length === 2) && name.every((byte) => byte === DOT)
}

/** A path in which each run of slashes is one; as it is if it is nothing else. */
export function mergedSlashes(path: string): string {
  return path === '/'.repeat(path.length) ? path : merged(Buffer.from(path))
}

/** Runs of slashes count, and are sent on, as one. */
function merged(raw: Buffer): string {
  const bytes = raw.filter((byte, index) => byte !== SLASH || raw[index - 1] !== SLASH)
  return Buffer.from(bytes).toString()
}

/** With plain slashes for those that are escaped; and in that, one slash for each run. */
function plainReadings(path: string): readonly string[] {
  const plain = path
    .split('%')
    .map((part, index) => (index === 0 ? part : /^(?:2f|5c)/i.test(part) ? `/${part.slice(2)}` : `%${part}`))
    .join('')
  return [plain, merged(Buffer.from(plain))]
}

function isUtf8(bytes: Buffer): boolean {
  return Buffer.compare(Buffer.from(bytes.toString()), bytes) === 0
}
