/** Reads which libraries a program needs from the file itself: ldd runs the program, which is not possible on another architecture. */

const [typeLoad, typeDynamic, typeInterpreter] = [1, 2, 3]
const [tagNeeded, tagStrings] = [1n, 5n]
const [class64, littleEndian] = [2, 1]

/**
 * @param {Buffer} file an ELF file of 64 bits, little-endian
 * @returns {{ readonly needed: readonly string[], readonly interpreter: string | undefined }} names of libraries, and the path of the dynamic linker
 */
export function elfNeeds(file) {
  if (file.toString('latin1', 0, 4) !== '\x7fELF' || file[4] !== class64 || file[5] !== littleEndian)
    throw new Error('expected an ELF file of 64 bits, little-endian')
  const start = Number(file.readBigUInt64LE(32))
  const [size, count] = [file.readUInt16LE(54), file.readUInt16LE(56)]
  const segments = Array.from({ length: count }, (_, index) => {
    const at = start + index * size
    const word = (/** @type {number} */ offset) => Number(file.readBigUInt64LE(at + offset))
    return { type: file.readUInt32LE(at), offset: word(8), address: word(16), length: word(32) }
  })
  const text = (/** @type {number} */ at) => file.toString('latin1', at, file.indexOf(0, at))
  const interpreter = segments.find(({ type }) => type === typeInterpreter)
  const dynamic = segments.find(({ type }) => type === typeDynamic)
  /** @type {{ tag: bigint, value: number }[]} */
  const entries = []
  for (let at = 0; dynamic !== undefined && at < dynamic.length; at += 16)
    entries.push({
      tag: file.readBigUInt64LE(dynamic.offset + at),
      value: Number(file.readBigUInt64LE(dynamic.offset + at + 8)),
    })
  const strings = entries.find(({ tag }) => tag === tagStrings)?.value ?? 0
  const holder = segments.find(
    ({ type, address, length }) => type === typeLoad && address <= strings && strings < address + length,
  )
  const base = strings - (holder?.address ?? 0) + (holder?.offset ?? 0)
  return {
    needed: entries.filter(({ tag }) => tag === tagNeeded).map(({ value }) => text(base + value)),
    interpreter: interpreter === undefined ? undefined : text(interpreter.offset),
  }
}
