import fc from 'fast-check'

/** One change of a byte string. Places are shares of the length, so that an edit fits every string. */
type Edit = (bytes: Buffer) => Buffer

const share = fc.integer({ min: 0, max: 10_000 }).map((each) => each / 10_000)
const length = fc.integer({ min: 1, max: 32 })
/** Bytes that grammars give a meaning. */
const specialBytes = fc.constantFrom(
  ...Buffer.from('\0\t\n\r "#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~09AZaz\x7f'),
  0x80,
  0xc0,
  0xff,
)
const anyByte = fc.oneof(
  { weight: 3, arbitrary: specialBytes },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 255 }) },
)
/** Characters that programs treat in different ways. */
const hostileTexts = fc.constantFrom(
  '\u0000',
  '\ufeff',
  '\u2028',
  '\u202e',
  '\u017f',
  '\u212a',
  '\u{1f600}',
  '\ud800',
  '٣',
  '%2e%2e%2f',
  '../',
  '__proto__',
  'constructor',
  '-1',
  '1e999',
  '0x7f',
  '9007199254740993',
  'a'.repeat(300),
  '('.repeat(64),
  '['.repeat(200),
  '{"a":'.repeat(100),
)

/** Changes of a few places of inputs of a corpus. Shrinks to fewer and smaller changes. */
export function mutatedBytes(
  corpus: readonly Uint8Array[],
  words: readonly string[],
  maxBytes: number,
): fc.Arbitrary<Uint8Array> {
  const entry = fc.constantFrom(...corpus)
  const texts = words.length === 0 ? hostileTexts : fc.oneof(hostileTexts, fc.constantFrom(...words))
  const edits: fc.Arbitrary<readonly Edit[]> = fc.array(editOf(entry, texts), { maxLength: 6 })
  return fc
    .tuple(entry, edits)
    .map(([base, changes]) =>
      changes.reduce<Buffer>(
        (bytes, change) => change(bytes).subarray(0, maxBytes),
        Buffer.from(base).subarray(0, maxBytes),
      ),
    )
}

function editOf(entry: fc.Arbitrary<Uint8Array>, texts: fc.Arbitrary<string>): fc.Arbitrary<Edit> {
  return fc.oneof(
    fc.tuple(share, anyByte).map(
      ([at, byte]): Edit =>
        (bytes) =>
          replaced(bytes, at, 1, Buffer.of(byte)),
    ),
    fc.tuple(share, anyByte).map(
      ([at, byte]): Edit =>
        (bytes) =>
          replaced(bytes, at, 0, Buffer.of(byte)),
    ),
    fc.tuple(share, length).map(
      ([at, count]): Edit =>
        (bytes) =>
          replaced(bytes, at, count, Buffer.alloc(0)),
    ),
    fc.tuple(share, texts).map(
      ([at, text]): Edit =>
        (bytes) =>
          replaced(bytes, at, 0, Buffer.from(text)),
    ),
    fc.tuple(share, length, texts).map(
      ([at, count, text]): Edit =>
        (bytes) =>
          replaced(bytes, at, count, Buffer.from(text)),
    ),
    fc.tuple(share, share, length).map(
      ([from, to, count]): Edit =>
        (bytes) =>
          replaced(bytes, to, 0, piece(bytes, from, count)),
    ),
    fc.tuple(share, length, fc.integer({ min: 2, max: 64 })).map(
      ([at, count, times]): Edit =>
        (bytes) =>
          replaced(bytes, at, 0, Buffer.concat(Array.from({ length: times }, () => piece(bytes, at, count)))),
    ),
    fc.tuple(share, share, entry).map(
      ([at, from, other]): Edit =>
        (bytes) =>
          Buffer.concat([bytes.subarray(0, place(bytes, at)), Buffer.from(other).subarray(place(other, from))]),
    ),
    share.map(
      (at): Edit =>
        (bytes) =>
          bytes.subarray(0, place(bytes, at)),
    ),
    fc.uint8Array({ maxLength: 16 }).map(
      (random): Edit =>
        (bytes) =>
          Buffer.concat([bytes, random]),
    ),
  )
}

function place(bytes: Uint8Array, at: number): number {
  // The end counts as a place.
  return Math.min(bytes.length, Math.floor(at * (bytes.length + 1)))
}

function piece(bytes: Buffer, at: number, count: number): Buffer {
  return bytes.subarray(place(bytes, at), place(bytes, at) + count)
}

function replaced(bytes: Buffer, at: number, count: number, by: Buffer): Buffer {
  const start = place(bytes, at)
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(start + count)])
}
