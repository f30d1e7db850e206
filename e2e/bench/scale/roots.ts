import { MemoryCaStore, systemClock, TresorProvider } from '@osm-ts/core'
import type { KubernetesManifest } from '@osm-ts/kubernetes'

import { SECRET } from '../references.js'
import { round } from '../statistics.js'
import { sentDuring, type SentFigures } from './changes.js'
import { OSM_NAMESPACE } from './mesh.js'
import type { ScaleEnvironment } from './scale-environment.js'

/** Another root of the workloads signs, and every proxy is told. */
export interface RootRotationFigures extends SentFigures {
  readonly proxies: number
  /** Milliseconds from the new Secret until the last proxy has acknowledged that both roots are trusted. */
  readonly trustMs: number
  /** A bare gRPC server writes the same bytes to as many. */
  readonly floorMs: number
  /** Of the two: roots do not wait for the debounce of policies. */
  readonly ratio: number
  /** Milliseconds until the last has a certificate of the new root: they are replaced between 10 and 40 s after it. Absent where that is not waited for. */
  readonly certificatesMs?: number
}

const ROOTS = 'root-cert-for-mtls'
const CERTIFICATE = 'service-cert'
const TIMEOUT_MS = 120_000

/** Replaces the root of the workloads at one stroke while all proxies are connected. */
export async function measureRootRotation(
  environment: ScaleEnvironment,
  options: { readonly certificates: boolean },
): Promise<RootRotationFigures> {
  const count = environment.certificates.proxies.length
  const secret = await newRoot()
  let at = 0n
  const replace = async (): Promise<bigint> => (at = await environment.api.put([secret]))
  const trusted = () => environment.proxies.reached({ typeUrl: SECRET, name: ROOTS, count }, replace, TIMEOUT_MS)
  let trust: Awaited<ReturnType<typeof trusted>> | undefined
  const trustedFirst = async (): Promise<bigint> => {
    trust = await trusted()
    return at
  }
  const { result, sent } = await sentDuring(environment, async () => {
    const certificates = options.certificates
      ? await environment.proxies.reached({ typeUrl: SECRET, name: CERTIFICATE, count }, trustedFirst, TIMEOUT_MS)
      : undefined
    return { certificates, ...(trust ?? (await trusted())) }
  })
  const { certificates, times, message } = result
  const floor = await environment.floorProxies.reached(
    { typeUrl: SECRET, name: ROOTS, count },
    () => environment.floor.push(environment.nodeIds(count), message),
    TIMEOUT_MS,
  )
  const [trustMs, floorMs] = [Math.max(...times), Math.max(...floor.times)]
  return {
    proxies: count,
    trustMs: round(trustMs),
    floorMs: round(floorMs),
    ratio: round(trustMs / floorMs),
    ...(certificates !== undefined && { certificatesMs: round(Math.max(...certificates.times)) }),
    ...sent,
  }
}

/** The Secret of a root that no one has seen yet. */
export async function newRoot(): Promise<KubernetesManifest> {
  const store = new MemoryCaStore()
  const provider = await TresorProvider.open({ store, clock: systemClock, rootKey: { algorithm: 'ECDSA' } })
  provider.close()
  const made = await store.load('workload')
  if (made === undefined) throw new Error('no root was made')
  const data = { 'ca.crt': btoa(made.certificate), 'private.key': btoa(made.privateKey()) }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'osm-ca-bundle', namespace: OSM_NAMESPACE }, data }
}
