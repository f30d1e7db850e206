/** What the mesh makes of the target of a request: the path that rules are about, or why it is refused. */
export type RequestTarget =
  | { readonly refused: false; readonly path: string; readonly query: string }
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
 * escape hides a separator in, one with a segment that names a folder above, and one that is no text.
 *
 * @param target - path and query as they were sent; bytes where they may be no text
 */
export function readTarget(target: string | Uint8Array): RequestTarget {
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
  for (let at = 0; at < raw.length; at += 1) {
    const byte = raw[at] ?? NUL
    if (byte !== PERCENT) {
      decoded.push(byte)
      continue
    }
    const digits = raw.subarray(at + 1, at + 3).toString('latin1')
    if (!/^[0-9a-f]{2}$/i.test(digits)) return refused('it has a percent sign that begins no escape')
    const escaped = Number.parseInt(digits, 16)
    if (escaped === SLASH || escaped === BACKSLASH || escaped === NUL)
      return refused('it has an escaped slash, backslash or NUL')
    decoded.push(escaped)
    at += 2
  }
  if (!isUtf8(Buffer.from(decoded))) return refused('it is no UTF-8')
  if (segments(decoded).some(leadsElsewhere)) return refused('it has a segment of dots')
  return { refused: false, path: merged(raw), query }
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

/** Runs of slashes count, and are sent on, as one. */
function merged(raw: Buffer): string {
  const bytes = raw.filter((byte, index) => byte !== SLASH || raw[index - 1] !== SLASH)
  return Buffer.from(bytes).toString()
}

function isUtf8(bytes: Buffer): boolean {
  return Buffer.compare(Buffer.from(bytes.toString()), bytes) === 0
}
