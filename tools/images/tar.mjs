/**
 * @typedef {object} TarEntry
 * @property {string} path relative, without a leading or trailing slash
 * @property {'file' | 'folder' | 'link'} type
 * @property {number} mode permission bits
 * @property {Uint8Array} [content] of a file
 * @property {string} [target] of a symbolic link
 */

const blockSize = 512
const typeFlags = { file: '0', folder: '5', link: '2' }

/**
 * A tar archive that depends on nothing but its entries: sorted by path, owned by root, and from the first second of 1970.
 * Folders that entries lie in are added.
 * @param {readonly TarEntry[]} entries
 * @returns {Buffer}
 */
export function writeTar(entries) {
  const blocks = sortedWithFolders(entries).flatMap((entry) => {
    const content = entry.content ?? new Uint8Array()
    const padding = Buffer.alloc((blockSize - (content.length % blockSize)) % blockSize)
    return [header(entry, content.length), content, padding]
  })
  // Two empty blocks end an archive.
  return Buffer.concat([...blocks, Buffer.alloc(2 * blockSize)])
}

/** @param {readonly TarEntry[]} entries */
function sortedWithFolders(entries) {
  /** @type {Map<string, TarEntry>} */
  const byPath = new Map()
  for (const entry of entries) {
    const { path } = entry
    if (path === '' || path.startsWith('/') || path.endsWith('/') || path.split('/').includes('..'))
      throw new Error(`"${path}" is no path for an archive`)
    if (byPath.has(path)) throw new Error(`two entries of an archive are called "${path}"`)
    byPath.set(path, entry)
  }
  for (const { path } of entries) {
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end)
      if (!byPath.has(folder)) byPath.set(folder, { path: folder, type: 'folder', mode: 0o755 })
    }
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * @param {TarEntry} entry
 * @param {number} size
 */
function header({ path, type, mode, target = '' }, size) {
  const block = Buffer.alloc(blockSize)
  const { name, prefix } = splitName(type === 'folder' ? `${path}/` : path)
  if (Buffer.byteLength(target) > 100) throw new Error(`the target of "${path}" is too long for an archive`)
  block.write(name, 0)
  octal(block, mode, 100, 8)
  octal(block, 0, 108, 8)
  octal(block, 0, 116, 8)
  octal(block, size, 124, 12)
  octal(block, 0, 136, 12)
  block.write(typeFlags[type], 156)
  block.write(target, 157)
  block.write('ustar\x0000', 257)
  block.write(prefix, 345)
  // The sum is taken with its own field filled with spaces.
  block.write(' '.repeat(8), 148)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/**
 * The format has room for 100 bytes of name and 155 of what is in front of its last slashes.
 * @param {string} path
 */
function splitName(path) {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' }
  for (let slash = path.indexOf('/'); slash > 0; slash = path.indexOf('/', slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)]
    if (Buffer.byteLength(prefix) <= 155 && name !== '' && Buffer.byteLength(name) <= 100) return { name, prefix }
  }
  throw new Error(`"${path}" is too long for an archive`)
}

/**
 * @param {Buffer} block
 * @param {number} value
 * @param {number} offset
 * @param {number} length
 */
function octal(block, value, offset, length) {
  block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, offset)
}
