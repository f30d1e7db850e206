import { X509Certificate } from 'node:crypto'

import { authorityOf, type CertificateManager, type Clock, type Metrics, pause, pemCertificates } from '@osm-ts/core'

import { replicaTrust } from '../replicas/replica-trust.js'
import type { RotationView } from './rotation-view.js'

/** What {@link measureRoots} measures. */
export interface RootMetricsOptions {
  readonly metrics: Metrics
  readonly certificates: Pick<CertificateManager, 'getRootCertificate' | 'trustBundle' | 'listCertificates'>
  /** Absent for a provider that never changes. */
  readonly rotation: RotationView | undefined
  readonly clock: Clock
}

/** How far a change of the provider is, in the order of the values of the metric. */
const STAGES = ['idle', 'trusting', 'issuing', 'error'] as const
const LOOK_MS = 5_000

/** Keeps the metrics of roots, of what signs below them, and of a change of the provider. Ends with the signal. */
export async function measureRoots(options: RootMetricsOptions, signal: AbortSignal): Promise<void> {
  const { metrics, certificates, rotation, clock } = options
  const expiry = metrics.gauge(
    'osm_cert_authority_expiry_timestamp_seconds',
    'Expiry of signing and trusted certificate authorities, in seconds since 1970; 0 if there is none',
    ['authority', 'role'],
  )
  const stage = metrics.gauge(
    'osm_cert_rotation_stage',
    'Stage of a change of the certificate provider: 0 none, 1 sidecars confirm roots, 2 certificates are replaced, 3 error',
    [],
  )
  while (!signal.aborted) {
    expiry.set(
      { authority: 'control-plane', role: 'root' },
      inSeconds(certificates.getRootCertificate('control-plane').expiration),
    )
    for (const [role, end] of Object.entries(expiries(certificates)))
      expiry.set({ authority: 'workload', role }, inSeconds(end))
    stage.set({}, STAGES.indexOf(stageOf(rotation && replicaTrust(rotation, certificates))))
    await pause(clock, LOOK_MS, signal)
  }
}

/** When what signs for workloads ends, and what is trusted, in milliseconds since 1970; 0 for what there is not. */
function expiries(
  certificates: RootMetricsOptions['certificates'],
): Readonly<Record<'root' | 'issuer' | 'trusted', number>> {
  const root = certificates.getRootCertificate('workload')
  const others = certificates.trustBundle('workload').filter((pem) => pem !== root.chain)
  const issuers = new Set(
    certificates
      .listCertificates()
      .flatMap(({ kind, issuingCA, chain }) =>
        kind !== 'root' && authorityOf(kind) === 'workload' && issuingCA.chain === root.chain ? issuersOf(chain) : [],
      ),
  )
  return {
    root: root.expiration,
    issuer: Math.min(root.expiration, ...[...issuers].map(endOf)),
    trusted: others.length === 0 ? 0 : Math.min(...others.map(endOf)),
  }
}

/** The certificates between a leaf and its root. */
function issuersOf(chain: string): readonly string[] {
  // Most authorities have none, and a chain has to be split only then.
  return chain.indexOf('-----BEGIN', 1) < 0 ? [] : pemCertificates(chain).slice(1)
}

function inSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}

function endOf(pem: string): number {
  return Date.parse(new X509Certificate(pem).validTo)
}

function stageOf(trust: ReturnType<typeof replicaTrust> | undefined): (typeof STAGES)[number] {
  if (trust === undefined) return 'idle'
  if (trust.fault !== undefined) return 'error'
  if (trust.next !== undefined || trust.sidecars !== undefined) return 'trusting'
  return trust.former > 0 ? 'issuing' : 'idle'
}
