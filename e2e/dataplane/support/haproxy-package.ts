import { chmod, cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { packageIntegrity } from '@osm-ts/driver-process'

import { bundleModule } from '../../../tools/lib/bundle.mjs'
import type { LoadedClass } from './mesh.js'

const agent = fileURLToPath(new URL('../../../examples/driver-haproxy/agent/', import.meta.url))

/** The HAProxy that set-up has found, or that on the PATH. */
export function haproxyBinary(): string {
  const { HAPROXY_BIN: named = '' } = process.env
  return named === '' ? 'haproxy' : named
}

/** Makes a package of the HAProxy driver in a folder, fit for a list of drivers, and puts the sidecar's program beside it, where the user of sidecars gets to. */
export async function haproxyPackage(folder: string): Promise<LoadedClass> {
  const path = join(folder, 'package')
  await mkdir(path, { recursive: true })
  await bundleModule('examples/driver-haproxy/src/index.ts', join(path, 'main.js'))
  const manifest = { name: 'osm-driver-haproxy', version: '0.1.0', type: 'module', exports: './main.js' }
  await writeFile(join(path, 'package.json'), JSON.stringify(manifest))
  await cp(agent, join(folder, 'agent'), { recursive: true })
  await chmod(folder, 0o711)
  const sidecar = join(folder, 'agent', 'main.mjs')
  const name = 'haproxy'
  const list = JSON.stringify({ drivers: [{ name, path, integrity: await packageIntegrity(path) }] })
  return { name, list, sidecar, environment: { OSM_HAPROXY_BINARY: haproxyBinary() } }
}
