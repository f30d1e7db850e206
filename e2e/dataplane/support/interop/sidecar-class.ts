import { spawn } from 'node:child_process'

import type { Capabilities } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { createPipyDriver } from '@osm-ts/driver-pipy'

import { createHaproxyDriver } from '../../../../examples/driver-haproxy/src/index.js'
import { haproxyBinary } from '../haproxy-package.js'
import { sidecarBinaries } from '../mesh.js'

/** Sidecar classes that meet in the matrix, in its order. */
export const sidecarClasses = ['envoy', 'haproxy', 'pipy'] as const
export type SidecarClass = (typeof sidecarClasses)[number]

/** A client and a server, by their classes. */
export type Pair = readonly [client: SidecarClass, server: SidecarClass]

/** All ordered pairs of some classes, with themselves too. */
export function pairsOf(classes: readonly SidecarClass[]): readonly Pair[] {
  return classes.flatMap((client) => classes.map((server): Pair => [client, server]))
}

/** A version has three numbers. */
const saysVersion: Readonly<Record<SidecarClass, RegExp>> = {
  envoy: /version: [0-9a-f]+\/(\d+\.\d+\.\d+)/,
  haproxy: /version (\d+\.\d+\.\d+)/i,
  pipy: /^Version\s*:\s*(\d+\.\d+\.\d+)/m,
}

/** The proxy that runs as sidecar of a class. */
function programOf(sidecarClass: SidecarClass): string {
  if (sidecarClass === 'haproxy') return haproxyBinary()
  const binary = sidecarBinaries()[sidecarClass]
  if (binary === undefined) throw new Error('PIPY_BIN names no Pipy')
  return binary
}

/** What a class says that it can do. */
export function capabilitiesOf(sidecarClass: SidecarClass): Capabilities {
  const create = { envoy: createEnvoyDriver, haproxy: createHaproxyDriver, pipy: createPipyDriver }[sidecarClass]
  return create().capabilities
}

/** Asks the proxy of a class for its version. */
export async function versionOf(sidecarClass: SidecarClass): Promise<string> {
  const path = programOf(sidecarClass)
  return new Promise((resolve, reject) => {
    const child = spawn(path, [sidecarClass === 'haproxy' ? '-v' : '--version'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const [, version] = saysVersion[sidecarClass].exec(said) ?? []
      if (version === undefined) return
      resolve(version)
      // Pipy may stay when it has said everything.
      child.kill('SIGKILL')
    })
    child.once('error', reject)
    child.once('close', () => reject(new Error(`${path} does not say which version it is: ${said}`)))
  })
}
