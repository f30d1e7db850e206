import { request } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'

import type { CertificateManager, MeshDomains, ProcessLogger } from '@osm-ts/core'
import type { ObjectRefusals } from '@osm-ts/kubernetes'

import type { ControllerErrorCode } from '../errors.js'
import { replicaName, replicaSubject } from './replica-name.js'
import { REPORT_PERIOD_MS, type ReplicaReport } from './replica-report.js'
import { REPORT_PATH } from './replica-server.js'
import type { ReplicaTrust } from './replica-trust.js'

/** What {@link reportToLeader} needs. */
export interface ReportToLeaderOptions {
  /** Identity of this replica. */
  readonly replica: string
  /** `host:port` of the leader; undefined while this replica leads, or no one is known to. */
  readonly leader: () => string | undefined
  readonly refusals: () => readonly ObjectRefusals[]
  /** Keys of objects of which its sidecars have not acknowledged something. */
  readonly awaited: () => readonly string[]
  /** Which roots its sidecars trust; undefined where the certificate provider never changes. */
  readonly trust: () => ReplicaTrust | undefined
  readonly certificates: CertificateManager
  readonly domains: MeshDomains
  readonly logger: ProcessLogger
}

/** How often it is looked whether there is something new to tell. Milliseconds. */
const LOOK_MS = 500
const REQUEST_MS = 5_000

/** Tells the leader what sidecars of this replica refuse, and which roots they trust: soon after each change, and every few seconds. Ends with the signal. */
export async function reportToLeader(options: ReportToLeaderOptions, signal: AbortSignal): Promise<void> {
  const { replica, leader, refusals, awaited, trust, logger } = options
  let told: { readonly leader: string; readonly text: string; readonly at: number } | undefined
  let failures = 0
  while (!signal.aborted) {
    const address = leader()
    const trusted = address === undefined ? undefined : trust()
    const report: ReplicaReport = {
      replica,
      refusals: refusals(),
      awaited: awaited(),
      ...(trusted && { trust: trusted }),
    }
    const text = JSON.stringify(report)
    const isTold =
      told !== undefined &&
      told.leader === address &&
      told.text === text &&
      performance.now() - told.at < REPORT_PERIOD_MS
    if (address !== undefined && !isTold) {
      const failure = await send(options, address, text, signal).then(() => undefined, String)
      if (failure === undefined) told = { leader: address, text, at: performance.now() }
      failures = failure === undefined ? 0 : failures + 1
      // The leader may just have gone; the next one is known within seconds.
      if (failures === 10)
        logger.warn(
          { code: 'OSM_CONTROLLER_REPORT' satisfies ControllerErrorCode, leader: address, reason: failure ?? '' },
          'the leader cannot be told what sidecars of this replica refuse; statuses of objects do not show it',
        )
    }
    await pause(LOOK_MS, undefined, { signal }).catch(() => undefined)
  }
}

async function send(
  { certificates, domains }: ReportToLeaderOptions,
  address: string,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const { hostname, port } = new URL(`https://${address}`)
  const { chain, privateKey } = (await certificates.issueCertificate(replicaSubject)).credential()
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const sending = request(
      {
        host: hostname.replace(/^\[|\]$/g, ''),
        port,
        method: 'PUT',
        path: REPORT_PATH,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
        agent: false,
        minVersion: 'TLSv1.3',
        servername: replicaName(domains),
        ca: [...certificates.trustBundle('control-plane')],
        cert: chain,
        key: privateKey,
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
      },
      (response) => {
        response
          .resume()
          .once('end', () => resolve(response.statusCode))
          .once('error', reject)
      },
    )
    sending.once('error', reject).end(text)
  })
  if (status !== 204) throw new Error(`the leader at ${address} answered ${String(status)}`)
}
