import {
  type CertificateManager,
  type Clock,
  pause,
  type Problem,
  type ProcessLogger,
  type Random,
  type TrustDomain,
} from '@osm-ts/core'
import {
  createInformer,
  type EnrolmentRule,
  isKubernetesError,
  type KubernetesApi,
  type PodCertificateRequest,
  podSignerName,
  readPodCertificateRequest,
  type ResourceType,
  servedPodCertificates,
  WorkQueue,
} from '@osm-ts/kubernetes'
import { type DriverMetrics, isOsmError } from '@osm-ts/driver-api'
import { errorMessage, Listeners } from '@osm-ts/driver-api/toolkit'

import type { ControllerErrorCode } from '../errors.js'
import { PodRequestChecker, RequestDenied } from './pod-request-checker.js'

/** What {@link PodCertificates} are signed with. */
export interface PodCertificatesOptions {
  readonly api: KubernetesApi
  readonly certificates: Pick<CertificateManager, 'issueCertificate'>
  readonly enrolment: EnrolmentRule
  readonly trustDomain: TrustDomain
  /** Name of the MeshConfig, whose conditions tell that the API server serves no such requests. */
  readonly configName: string
  /** How often requests without an answer are looked at without a reason, and the API server is asked what it serves. Absent: half a minute. */
  readonly sweepMs?: number
  readonly clock: Clock
  readonly random: Random
  readonly metrics: DriverMetrics
  readonly logger: ProcessLogger
}

/** Requests that are answered at one time. */
const CONCURRENCY = 8
/** Requests that wait at most. What does not fit is looked at again by the next sweep. */
const CAPACITY = 4_096
/** See {@link PodCertificatesOptions.sweepMs}. */
const SWEEP_MS = 30_000
/** An unanswered request costs its pod the start: later attempts are not far apart. */
const BACKOFF = { firstMs: 500, lastMs: 15_000 }
const SECOND_MS = 1_000
const HOUR_MS = 3_600_000
/** Lifetime of a certificate at most, whatever a request allows. */
const MAX_LIFETIME_MS = 24 * HOUR_MS
/** The lifetime is this much less than allowed: certificates begin a minute before now, because clocks differ. */
const MARGIN_MS = 300_000
/** The API server takes nothing shorter. */
const MIN_LIFETIME_MS = HOUR_MS
/** Kubelets renew at some point of this stretch of the life, each at its own. */
const REFRESH = { from: 0.5, to: 0.75 } as const

/** Codes of requests that are refused for good; of anything else a later attempt may issue. */
const DENIED: Readonly<Record<string, string>> = {
  OSM_PROXY_KEY: 'UnsupportedKeyType',
  OSM_CERT_RELEASED: 'SidecarReleased',
}

type Answer =
  | { readonly type: 'Denied'; readonly reason: string; readonly message: string }
  | {
      readonly type: 'Issued'
      readonly reason: string
      readonly message: string
      readonly fields: Readonly<Record<string, string>>
    }

/**
 * Signs proxy certificates for keys that kubelets make, in answer to their PodCertificateRequests. One instance at a time: the leader.
 *
 * A request that cannot be answered now stays without an answer, and its pod waits. Only what will never be right is denied, because a pod does not start after that.
 */
export class PodCertificates {
  readonly #options: PodCertificatesOptions
  readonly #checker: PodRequestChecker
  readonly #signerName: string
  readonly #count: (result: string) => void
  readonly #listeners = new Listeners()
  #isServed = true

  constructor(options: PodCertificatesOptions) {
    const { api, enrolment, trustDomain, metrics } = options
    this.#options = options
    this.#signerName = podSignerName(enrolment.meshName)
    this.#checker = new PodRequestChecker({ api, enrolment, trustDomain, signerName: this.#signerName })
    const counter = metrics.counter('osm_pod_certificate_count', 'PodCertificateRequests of sidecars by result', [
      'result',
    ])
    for (const result of ['issued', 'denied', 'failed']) counter.inc({ result }, 0)
    this.#count = (result) => counter.inc({ result })
  }

  /** That the API server serves no such requests. */
  problems(): readonly Problem[] {
    if (this.#isServed) return []
    const { enrolment, configName } = this.#options
    return [
      {
        code: 'OSM_CONTROLLER_POD_CERTIFICATES' satisfies ControllerErrorCode,
        severity: 'error',
        message:
          'the API server serves no PodCertificateRequests, which osm.proxyIdentity podCertificate needs; enable them in API server and kubelets, or set osm.proxyIdentity to secret',
        object: { kind: 'MeshConfig', namespace: enrolment.osmNamespace, name: configName },
      },
    ]
  }

  /** Calls the listener when {@link problems} differ. The result ends it. */
  onProblems(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  /** Signs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { api, clock, logger, sweepMs = SWEEP_MS } = this.#options
    let served: ResourceType | undefined
    // In one version of the API at a time.
    const running = new Map<string, { readonly end: AbortController; readonly done: Promise<void> }>()
    const stop = async (): Promise<void> => {
      for (const { end } of running.values()) end.abort()
      await Promise.all([...running.values()].map(({ done }) => done))
      running.clear()
    }
    try {
      while (!signal.aborted) {
        // Where the API server does not say, its last settings stay in force.
        const found = await servedPodCertificates(api, signal).catch(() => served)
        if (found?.version !== served?.version) await stop()
        served = found
        this.#setServed(found !== undefined)
        if (found !== undefined && !running.has(found.version)) {
          const end = new AbortController()
          running.set(found.version, { end, done: this.#answerAll(found, AbortSignal.any([signal, end.signal])) })
          logger.info({ signer: this.#signerName, version: found.version }, 'signing PodCertificateRequests')
        }
        await Promise.race([pause(clock, sweepMs, signal), ...[...running.values()].map(({ done }) => done)])
      }
    } finally {
      await stop()
    }
  }

  /** Follows requests in one version of the API until the signal aborts. */
  async #answerAll(type: ResourceType, signal: AbortSignal): Promise<void> {
    const { api, clock, random, logger, metrics, sweepMs = SWEEP_MS } = this.#options
    const informer = createInformer<PodCertificateRequest>({
      type,
      fieldSelector: `spec.signerName=${this.#signerName}`,
      // Answered ones lie around until the API server removes them.
      project: (object) => {
        const request = readPodCertificateRequest(object)
        return request.isAnswered ? undefined : request
      },
      api,
      clock,
      random,
      logger,
      metrics,
    })
    const queue = new WorkQueue({
      handle: async (key, own) => {
        const [namespace = '', name = ''] = key.split('/')
        const request = informer.get({ namespace, name })
        if (request !== undefined) await this.#answer(type, request, own)
      },
      concurrency: CONCURRENCY,
      capacity: CAPACITY,
      backoff: BACKOFF,
      clock,
      random,
      onFault: (key, error, failures) => {
        this.#count('failed')
        if (failures <= 1 || failures === 5)
          logger.warn(
            { code: 'OSM_CONTROLLER_DUTY' satisfies ControllerErrorCode, request: key, reason: errorMessage(error) },
            'a PodCertificateRequest cannot be answered yet',
          )
      },
    })
    const addAll = (): void => {
      for (const { namespace, name } of informer.list()) queue.add(`${namespace}/${name}`)
    }
    const end = informer.subscribe((changes) => {
      for (const { name, after } of changes) if (after !== undefined) queue.add(`${name.namespace}/${name.name}`)
    })
    const sweep = async (): Promise<void> => {
      while (!signal.aborted) {
        addAll()
        await pause(clock, sweepMs, signal)
      }
    }
    try {
      await informer.start(signal).catch((error: unknown) => {
        if (!signal.aborted) throw error
      })
      await Promise.all([queue.run(signal), sweep()])
    } finally {
      end()
    }
  }

  async #answer(type: ResourceType, request: PodCertificateRequest, signal: AbortSignal): Promise<void> {
    const { api, clock, logger } = this.#options
    const { namespace, name } = request
    const answer = await this.#decide(request, signal)
    const { type: condition, reason, message } = answer
    const lastTransitionTime = isoSeconds(clock.now())
    const conditions = [{ type: condition, status: 'True', reason, message, lastTransitionTime }]
    const status = { conditions, ...('fields' in answer ? answer.fields : {}) }
    try {
      await api.mergePatch(type, { namespace, name }, { status }, { signal, subresource: 'status', answer: 'metadata' })
    } catch (error) {
      // The pod was deleted meanwhile, and the request with it.
      if (isKubernetesError(error) && error.notFound) return
      throw error
    }
    this.#count(condition.toLowerCase())
    if (answer.type === 'Denied')
      logger.warn(
        {
          audit: 'certificate',
          kind: 'proxy',
          namespace,
          request: name,
          pod: request.pod.name,
          serviceAccount: request.serviceAccount.name,
          node: request.nodeName,
          askedBy: 'kubelet',
          reason,
        },
        `PodCertificateRequest denied: ${message}`,
      )
  }

  /** @throws what may pass */
  async #decide(request: PodCertificateRequest, signal: AbortSignal): Promise<Answer> {
    try {
      const holder = await this.#checker.check(request, signal)
      const lifetimeMs = Math.min(request.maxExpirationSeconds * SECOND_MS, MAX_LIFETIME_MS) - MARGIN_MS
      if (lifetimeMs < MIN_LIFETIME_MS)
        throw new RequestDenied(
          'InvalidLifetime',
          `maxExpirationSeconds must be at least ${(MIN_LIFETIME_MS + MARGIN_MS) / SECOND_MS}, got ${request.maxExpirationSeconds}`,
        )
      const { certificates } = this.#options
      const certificate = await certificates.issueCertificate(holder, { keep: false, validityMs: lifetimeMs })
      const { notBefore, expiration, serialNumber, chain } = certificate
      const share = REFRESH.from + (REFRESH.to - REFRESH.from) * this.#options.random()
      return {
        type: 'Issued',
        reason: 'Issued',
        message: `issued by osm-controller, serial number ${serialNumber}`,
        fields: {
          certificateChain: chain,
          notBefore: isoSeconds(notBefore),
          beginRefreshAt: isoSeconds(notBefore + (expiration - notBefore) * share),
          notAfter: isoSeconds(expiration),
        },
      }
    } catch (error) {
      if (error instanceof RequestDenied) return { type: 'Denied', reason: error.reason, message: error.message }
      const reason = isOsmError(error) ? DENIED[error.code] : undefined
      if (reason !== undefined) return { type: 'Denied', reason, message: errorMessage(error) }
      throw error
    }
  }

  #setServed(isServed: boolean): void {
    if (this.#isServed === isServed) return
    this.#isServed = isServed
    this.#listeners.notify()
  }
}

/** RFC 3339 in whole seconds, as Kubernetes stores times. */
function isoSeconds(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}Z`
}
