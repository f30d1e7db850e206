import {
  type CertificateErrorCode,
  type CertificateNames,
  type Clock,
  generateKeyPairFor,
  type Random,
  type RemoteAuthority,
  signingRequest,
  type SigningRequest,
} from '@osm-ts/core'
import { type Logger, OsmError } from '@osm-ts/driver-api'

import type { KubernetesApi } from '../api.js'
import { isKubernetesError } from '../kubernetes-error.js'
import { instanceLabel, meshObjectLabels } from '../mesh-labels.js'
import { resourceTypes } from '../resource-types.js'
import { type IssuerRef, requestManifest, requestName, type RequestState } from './certificate-request.js'
import { RequestTracker } from './request-tracker.js'

/** What {@link CertManagerAuthority} needs. */
export interface CertManagerOptions {
  readonly api: KubernetesApi
  readonly meshName: string
  /** Where requests are made: that of the control plane. */
  readonly namespace: string
  readonly issuer: IssuerRef
  /** PEM of the roots that may sign. Absent: those that the issuer names. */
  readonly roots?: (signal: AbortSignal) => Promise<string>
  /** Names of the certificate that is asked for to learn the roots of the issuer. It is thrown away. */
  readonly probe: CertificateNames
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** Time for one answer. An issuer may call a service of its own. */
const ANSWER_MS = 20_000
/** Time for the approval of a new request, and of one that has waited before. Others wait for their turn meanwhile. */
const APPROVAL_MS = { first: 10_000, again: 1_000 } as const
/** Requests of this process that are in the cluster at a time, those that wait for an approval included. */
const MAX_OUTSTANDING = 256
/** The roots of the last answer count for this long. */
const ROOTS_MS = 3_600_000
/** What most issuers grant at least. */
const PROBE_VALIDITY_MS = 3_600_000
/** Tells requests for certificates from other objects of the mesh. */
const PURPOSE = { 'openservicemesh.io/certificate': 'workload' } as const

/**
 * cert-manager, and issuers that speak its API: a CertificateRequest for each certificate, which is deleted when it has been answered.
 *
 * A request that no one has approved yet stays: the next attempt for the same key finds it again.
 */
export class CertManagerAuthority implements RemoteAuthority {
  readonly name = 'cert-manager'
  readonly #options: CertManagerOptions
  readonly #requests: RequestTracker
  readonly #labels: Readonly<Record<string, string>>
  #answer: { readonly pem: string; readonly at: number } | undefined

  constructor(options: CertManagerOptions) {
    const { meshName, logger } = options
    this.#options = options
    this.#labels = { ...meshObjectLabels(meshName), ...PURPOSE }
    this.#requests = new RequestTracker({
      ...options,
      labels: { [instanceLabel]: meshName, ...PURPOSE },
      logger,
    })
  }

  async sign(request: SigningRequest, signal: AbortSignal): Promise<string> {
    const name = requestName(request)
    const isKnown = this.#requests.has(name)
    if (!isKnown && this.#requests.outstanding >= MAX_OUTSTANDING)
      throw pending(`${MAX_OUTSTANDING} requests to cert-manager wait already, most of them for their approval`)
    let isWaiting = false
    try {
      if (!isKnown) this.#requests.claim(name)
      await this.#make(request, signal)
      const state = await this.#answered(name, isKnown, signal)
      if (state.step !== 'issued') {
        isWaiting = state.step === 'unapproved'
        throw this.#unanswered(name, request, state)
      }
      const pem = `${state.certificate}\n${state.ca}`
      this.#answer = { pem, at: this.#options.clock.now() }
      return pem
    } finally {
      if (!isWaiting) await this.#requests.remove(name)
    }
  }

  async caCertificates(signal: AbortSignal): Promise<string> {
    const { roots, clock } = this.#options
    if (roots !== undefined) return roots(signal)
    if (this.#answer !== undefined && clock.now() - this.#answer.at < ROOTS_MS) return this.#answer.pem
    const pair = await generateKeyPairFor({ algorithm: 'ECDSA' })
    return this.sign(signingRequest({ ...this.#options.probe, validityMs: PROBE_VALIDITY_MS }, pair), signal)
  }

  /** Follows requests and removes forgotten ones, until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#requests.run(signal)
  }

  async #make(request: SigningRequest, signal: AbortSignal): Promise<void> {
    const { api, namespace, issuer } = this.#options
    try {
      const manifest = requestManifest(request, { namespace, labels: this.#labels, issuer })
      await api.create(resourceTypes.CertificateRequest, manifest, { signal, answer: 'metadata' })
    } catch (error) {
      signal.throwIfAborted()
      // It was made by an earlier attempt for the same key.
      if (isKubernetesError(error) && error.conflict) return
      throw notMade(error, namespace)
    }
  }

  /** Approval and signature have times of their own: someone may have to be asked for the first. */
  async #answered(name: string, isKnown: boolean, signal: AbortSignal): Promise<RequestState> {
    const first = await this.#requests.settled(name, isKnown ? APPROVAL_MS.again : APPROVAL_MS.first, signal)
    const state =
      first?.step === 'pending' ? await this.#requests.settled(name, ANSWER_MS - APPROVAL_MS.first, signal) : first
    if (state !== undefined) return state
    const followed = this.#requests.followed()
    if (followed.state !== 'synced')
      throw unavailable(`CertificateRequests cannot be followed: ${followed.error?.message ?? 'no answer yet'}`)
    throw refused(`CertificateRequest ${this.#options.namespace}/${name} was deleted before it was answered`)
  }

  #unanswered(
    name: string,
    { commonName }: SigningRequest,
    state: Exclude<RequestState, { step: 'issued' }>,
  ): OsmError {
    const { namespace, issuer } = this.#options
    const about = `CertificateRequest ${namespace}/${name} for ${commonName}`
    switch (state.step) {
      case 'unapproved':
        return pending(`${about} is neither approved nor denied; approve it, or see whether cert-manager runs`)
      case 'pending':
        return unavailable(`${issuer.kind} ${issuer.name} of ${issuer.group} has not signed ${about}: ${state.reason}`)
      case 'refused':
        return refused(`${about} is ${state.reason}`)
    }
  }
}

/** A refusal of the API server or of an admission webhook concerns this request; everything else may pass. */
function notMade(error: unknown, namespace: string): unknown {
  if (!isKubernetesError(error)) return error
  if (error.notFound)
    return unavailable(`the API server has no CertificateRequests of cert-manager.io/v1: install cert-manager`)
  const isRefusal = error.code === 'OSM_KUBERNETES_INVALID' || error.code === 'OSM_KUBERNETES_FORBIDDEN'
  const message = `no CertificateRequest can be made in namespace ${namespace}: ${error.message}`
  return isRefusal ? refused(message) : unavailable(message)
}

function pending(message: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_APPROVAL_PENDING', message)
}

function unavailable(message: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_UNAVAILABLE', message)
}

function refused(message: string): OsmError {
  return new OsmError<CertificateErrorCode>('OSM_CERT_PROVIDER_REFUSED', message)
}
