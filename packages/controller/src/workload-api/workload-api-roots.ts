import {
  type CertificateErrorCode,
  type Clock,
  DerReader,
  haveCommonKey,
  type OtherRoots,
  pause,
  type ProcessLogger,
  type ProviderFault,
  type Random,
  selfSignedRoots,
} from '@osm-ts/core'
import { OsmError } from '@osm-ts/driver-api'
import { backoffMs, deferred, errorMessage, Listeners } from '@osm-ts/driver-api/toolkit'

import { watchX509Bundles, type X509Bundles } from './x509-bundles.js'

/** What {@link WorkloadApiRoots} needs. */
export interface WorkloadApiRootsOptions {
  /** Path of the Unix socket. */
  readonly socketPath: string
  readonly trustDomain: string
  /** PEM of roots that must not vouch for workloads: those of the control plane. */
  readonly forbidden: () => readonly string[]
  readonly clock: Clock
  readonly random: Random
  readonly logger: ProcessLogger
}

const NAME = 'workload-api'
const BACKOFF = { firstMs: 500, lastMs: 15_000 } as const
/** Trust domains that a message names. */
const MAX_NAMED = 16

/**
 * The roots of the mesh's trust domain that the SPIFFE Workload API of this node knows, live. What was read last stays in force while it is unavailable, or answers with
 * something that cannot be used.
 */
export class WorkloadApiRoots implements OtherRoots {
  readonly #options: WorkloadApiRootsOptions
  readonly #listeners = new Listeners()
  #roots: readonly string[] = []
  #fault: ProviderFault | undefined
  readonly #opened = deferred<undefined>()

  constructor(options: WorkloadApiRootsOptions) {
    this.#options = options
  }

  /** Resolves when there are roots. A controller that served without them would take them away from sidecars that have certificates of them. */
  get opened(): Promise<void> {
    return this.#opened.promise
  }

  current(): readonly string[] {
    return this.#roots
  }

  faults(): readonly ProviderFault[] {
    return this.#fault === undefined ? [] : [this.#fault]
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Follows the bundle until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { socketPath, clock, random } = this.#options
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        for await (const bundles of watchX509Bundles(socketPath, signal)) {
          failures = 0
          this.#take(bundles)
        }
      } catch (error) {
        this.#failed('OSM_CERT_WORKLOAD_API', `${socketPath}: ${errorMessage(error)}`)
      }
      await pause(clock, backoffMs(failures, BACKOFF, random), signal)
    }
  }

  #take(bundles: X509Bundles): void {
    let roots: readonly string[]
    try {
      roots = rootsOf(bundles, this.#options)
    } catch (error) {
      this.#failed('OSM_CERT_WORKLOAD_API_BUNDLE', errorMessage(error))
      return
    }
    const { logger, socketPath } = this.#options
    const changed = roots.join('') !== this.#roots.join('')
    if (!changed && this.#fault === undefined) return
    logger.info({ socketPath, roots: roots.length }, 'roots of the Workload API are in force')
    this.#roots = roots
    this.#fault = undefined
    this.#opened.resolve(undefined)
    this.#listeners.notify()
  }

  #failed(code: CertificateErrorCode, message: string): void {
    if (this.#fault?.code === code && this.#fault.message === message) return
    const { logger, clock } = this.#options
    logger.warn(
      { code, reason: message },
      this.#roots.length > 0
        ? 'the roots of the Workload API cannot be read; the last ones stay in force'
        : 'the roots of the Workload API cannot be read; no proxy is served before',
    )
    this.#fault = { provider: NAME, authority: 'workload', code, severity: 'warning', message, since: clock.now() }
    this.#listeners.notify()
  }
}

/** @throws Error if there are none of the trust domain, or they must not be trusted */
function rootsOf(bundles: X509Bundles, { trustDomain, forbidden }: WorkloadApiRootsOptions): readonly string[] {
  const bundle = bundles.get(`spiffe://${trustDomain}`) ?? bundles.get(trustDomain)
  if (bundle === undefined) {
    const others = [...bundles.keys()].slice(0, MAX_NAMED).join(', ') || 'none'
    throw wrong(`there is no bundle of trust domain ${trustDomain}, only of: ${others}`)
  }
  const roots = selfSignedRoots(pemOf(bundle), `the bundle of trust domain ${trustDomain}`)
  if (roots.length === 0) throw wrong(`the bundle of trust domain ${trustDomain} has no root certificate of a CA`)
  if (haveCommonKey(forbidden(), roots))
    throw wrong('a root of the bundle has the key of the control plane; SPIRE needs a root of its own')
  return roots.map(String).sort()
}

/** @throws DerError if it is cut short */
function pemOf(bundle: Uint8Array): string {
  const reader = new DerReader(Buffer.from(bundle), 'the bundle')
  const texts: string[] = []
  while (!reader.isEmpty) {
    const lines = reader
      .whole('sequence')
      .toString('base64')
      .replace(/.{64}(?=.)/g, '$&\n')
    texts.push(`-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`)
  }
  return texts.join('')
}

function wrong(message: string): OsmError<CertificateErrorCode> {
  return new OsmError('OSM_CERT_WORKLOAD_API_BUNDLE', message)
}
