const blockSize = 512

/**
 * Reads an archive that tools/images/tar.mjs has written: plain ustar without extensions.
 * @param {Buffer} archive
 * @returns {readonly { path: string, content: Buffer }[]} its files
 */
export function untar(archive) {
  const text = (/** @type {number} */ start, /** @type {number} */ length) =>
    archive
      .subarray(start, start + length)
      .toString()
      .replace(/\0.*$/s, '')
  const entries = []
  for (let at = 0; archive[at] !== 0;) {
    const size = parseInt(text(at + 124, 12), 8)
    const content = archive.subarray(at + blockSize, at + blockSize + size)
    const path = [text(at + 345, 155), text(at, 100)].filter((part) => part !== '').join('/')
    if (text(at + 156, 1) === '0') entries.push({ path, content })
    at += blockSize + Math.ceil(size / blockSize) * blockSize
  }
  return entries
}
