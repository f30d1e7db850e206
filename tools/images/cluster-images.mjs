import { readFileSync } from 'node:fs'
import { hashInputs } from '../lib/cache.mjs'
import { baseFiles } from './base-files.mjs'
import { imageSettings } from './assemble.mjs'
import { hostFile } from './host-files.mjs'
import { makeImage, makeLayer } from './oci-image.mjs'
import { writeArchive } from './write-archive.mjs'

const registry = 'localhost/osm-cluster'

/**
 * Archives of the images that the nodes of a local cluster need themselves.
 * @param {{ pause: string, coredns: string }} programs statically linked
 * @param {string} folder
 */
export async function assembleNodeImages({ pause, coredns }, folder) {
  return {
    pauseArchive: await staticImage('pause', pause, [], folder),
    dnsArchive: await staticImage('coredns', coredns, baseFiles(), folder),
  }
}

/**
 * @param {string} name
 * @param {string} program
 * @param {readonly import('./tar.mjs').TarEntry[]} files beside the program
 * @param {string} folder
 */
async function staticImage(name, program, files, folder) {
  // The tag says what is in it: a node that has this one need not be given it again.
  const tag = hashInputs([readFileSync(program)])
  const { architecture, labels } = imageSettings({ registry, tag })
  const layer = makeLayer(`${name}, linked statically`, [...files, hostFile(program, `/${name}`)])
  const config = { Entrypoint: [`/${name}`], WorkingDir: '/', Labels: labels }
  const image = makeImage({ name: `${registry}/${name}:${tag}`, architecture, config, layers: [layer] })
  return (await writeArchive(image, folder, name)).path
}
