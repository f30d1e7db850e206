import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Writes an image as an archive.
 * @param {Pick<import('./oci-image.mjs').Image, 'name' | 'digest' | 'archive' | 'size'>} image
 * @param {string} folder
 * @param {string} name of the archive, without its ending
 * @returns {Promise<import('./assemble.mjs').AssembledImage>}
 */
export async function writeArchive(image, folder, name) {
  await mkdir(folder, { recursive: true })
  const path = join(folder, `${name}.tar`)
  // Anyone who reads the archive meanwhile sees the old one or the new one.
  await writeFile(`${path}.partial`, image.archive)
  await rename(`${path}.partial`, path)
  return { name: image.name, digest: image.digest, size: image.size, path }
}
