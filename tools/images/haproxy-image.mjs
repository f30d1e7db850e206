import { readFileSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { bundleModule } from '../lib/bundle.mjs'
import { root } from '../lib/paths.mjs'
import { nonroot } from './base-files.mjs'
import { nodePath } from './definitions.mjs'
import { hostFile, packageRecords, sharedLibraries } from './host-files.mjs'
import { file, makeImage, makeLayer } from './oci-image.mjs'

/** What the sidecar starts HAProxy with. */
const setpriv = '/usr/bin/setpriv'
const agent = 'examples/driver-haproxy/agent'
const agentPlace = 'opt/osm-haproxy'
/** Where the package of the driver is in the image. */
export const haproxyDriverFolder = '/drivers/haproxy'
/** The name of the image, without registry and tag. */
export const haproxyImageName = 'osm-haproxy'

const bundle = join(root, 'e2e/dist/haproxy-driver.mjs')

/** Bundles the driver of class haproxy. @returns {Promise<string>} path of the bundle */
export async function bundleHaproxyDriver() {
  await bundleModule('examples/driver-haproxy/src/index.ts', bundle)
  return bundle
}

/**
 * The package of the driver of class haproxy, once it is bundled.
 * @returns {readonly { readonly path: string, readonly content: Buffer }[]}
 */
export function haproxyDriverFiles() {
  const manifest = { name: 'osm-driver-haproxy', version: '0.1.0', type: 'module', exports: './main.mjs' }
  return [
    { path: 'main.mjs', content: readFileSync(bundle) },
    { path: 'package.json', content: Buffer.from(JSON.stringify(manifest)) },
  ]
}

/** What sidecars of class haproxy run beside HAProxy. @returns {readonly string[]} paths */
export function haproxyAgentFiles() {
  return readdirSync(join(root, agent)).map((name) => join(root, agent, name))
}

/**
 * The sidecar of class haproxy, and the package of its driver.
 * @param {import('./assemble.mjs').ImageSettings} settings
 * @param {import('./oci-image.mjs').Layer} base with Node.js
 * @param {string} haproxy path of a HAProxy
 */
export async function haproxyImage({ registry, tag, architecture, labels }, base, haproxy) {
  const programs = [realpathSync(haproxy), setpriv]
  const libraries = await sharedLibraries(programs)
  const layer = makeLayer('HAProxy, the program that runs it, and its driver', [
    hostFile(haproxy, '/usr/local/bin/haproxy'),
    hostFile(setpriv),
    ...libraries.map((library) => hostFile(library)),
    ...(await packageRecords([...programs, ...libraries])),
    ...haproxyAgentFiles().map((path) => file(path.replace(join(root, agent), agentPlace), readFileSync(path), 0o444)),
    file('usr/local/bin/osm-haproxy-sidecar', `#!${nodePath}\nimport('/${agentPlace}/main.mjs')\n`, 0o555),
    ...haproxyDriverFiles().map(({ path, content }) => file(`${haproxyDriverFolder.slice(1)}/${path}`, content, 0o444)),
  ])
  return makeImage({
    name: `${registry}/${haproxyImageName}:${tag}`,
    architecture,
    layers: [base, layer],
    config: {
      User: nonroot,
      Env: ['PATH=/usr/local/bin:/usr/bin:/bin'],
      Entrypoint: ['/usr/local/bin/osm-haproxy-sidecar'],
      WorkingDir: '/',
      Labels: labels,
    },
  })
}
