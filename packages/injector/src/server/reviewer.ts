import { abandonable, type CertificateManager, type Metrics, newProxyUUID, type ProcessLogger } from '@osm-ts/core'
import { ProbeBindingsReader } from '@osm-ts/kubernetes'
import type { AdmissionAnswer, AdmissionRequest } from '@osm-ts/program'
import { isOsmError, OsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { DRIVER_FAULTS } from '../decision/driver-fault.js'
import type { InjectorErrorCode } from '../error-codes.js'
import { injectPod, type Injection, type InjectionPorts } from '../inject/inject-pod.js'
import type { NamespaceFacts } from '../inject/settings.js'
import { objectOf, textOf } from '../json/json.js'
import { PodReader } from '../pod/pod.js'
import { InitScripts } from '../sidecar/init-containers.js'
import type { BootstrapSecrets } from './bootstrap-secrets.js'
import type { PodCertificateSupport } from './pod-certificate-support.js'
import type { MeshState } from './mesh-state.js'

/** What reviews are made with. */
export interface ReviewerOptions {
  readonly state: Pick<MeshState, 'settings' | 'knownNamespace' | 'readNamespace'>
  readonly certificates: Pick<CertificateManager, 'issueCertificate'>
  readonly secrets: Pick<BootstrapSecrets, 'store' | 'reusableUuid'>
  readonly podCertificates: Pick<PodCertificateSupport, 'assertServed'>
  readonly logger: ProcessLogger
  readonly metrics: Metrics
}

/** Codes of what is no one's mistake and may be gone in a moment. */
const PASSING: ReadonlySet<string> = new Set<InjectorErrorCode>([
  'OSM_INJECT_SECRET_FORBIDDEN',
  'OSM_INJECT_SECRET',
  'OSM_INJECT_RATE',
  'OSM_INJECT_POD_CERTIFICATES',
  'OSM_INJECT_NOT_READY',
  'OSM_INJECT_TIMEOUT',
  'OSM_INJECT_FAULT',
])

/** Answers what the API server asks of pods, with one line in the log for each. */
export class PodReviewer {
  readonly #options: ReviewerOptions
  readonly #ports: InjectionPorts
  readonly #decisions: ReturnType<Metrics['counter']>
  readonly #seconds: ReturnType<Metrics['histogram']>

  constructor(options: ReviewerOptions) {
    const { certificates, secrets, podCertificates, metrics } = options
    this.#options = options
    this.#ports = {
      newUuid: newProxyUUID,
      // Not kept: the proxy connects to the controller, and nothing would ever say here that it has ended.
      issue: ({ uuid, serviceAccount }) =>
        certificates.issueCertificate({ kind: 'proxy', uuid, serviceAccount }, { keep: false }),
      reusableUuid: (...question) => secrets.reusableUuid(...question),
      assertPodCertificates: (signal) => podCertificates.assertServed(signal),
      pods: new PodReader(),
      bindings: new ProbeBindingsReader(),
      scripts: new InitScripts(),
    }
    this.#decisions = metrics.counter('osm_injector_decisions_total', 'Reviewed pods by outcome', ['outcome', 'reason'])
    this.#seconds = metrics.histogram(
      'osm_injector_review_seconds',
      'Time from a review to its answer',
      ['outcome'],
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    )
  }

  /** Answers within the time that the API server waits; what is not done by then is refused. */
  async review(request: AdmissionRequest, timeoutMs: number): Promise<AdmissionAnswer> {
    if (request.operation !== 'CREATE' || request.kind !== 'v1/Pod' || request.subResource !== '') {
      const warning = `osm-injector looks at pods that are created, not at ${request.operation} of ${request.kind}`
      return { allowed: true, warnings: [warning] }
    }
    const start = performance.now()
    const injection = abandonable((signal) => this.#inject(request, signal))
    const timer = setTimeout(() => injection.abandon(timedOut(timeoutMs)), timeoutMs)
    try {
      return this.#conclude(request, await injection.done, start)
    } catch (error) {
      // Only what a programmer has done wrong, or the time that has passed.
      return this.#conclude(request, { outcome: 'refused', error: codedError(error) }, start)
    } finally {
      clearTimeout(timer)
    }
  }

  async #inject(request: AdmissionRequest, signal: AbortSignal): Promise<Injection> {
    const { state, secrets } = this.#options
    const settings = state.settings()
    const injectIn = (namespace: NamespaceFacts): Promise<Injection> =>
      injectPod({ pod: request.object ?? {}, namespace, dryRun: request.dryRun, signal }, settings, this.#ports)
    const known = state.knownNamespace(request.namespace)
    let injection = known === undefined ? undefined : await injectIn(known)
    // The API server asks about namespaces that are in the mesh, and the informer may not have seen one join. Nothing that is out of date
    // lets a pod go without a sidecar.
    if (injection === undefined || (injection.outcome === 'skipped' && injection.by === 'namespace'))
      injection = await injectIn(await state.readNamespace(request.namespace, signal))
    if (injection.outcome === 'injected' && injection.secret !== undefined && !request.dryRun)
      await secrets.store(injection.secret, injection.again, signal)
    return injection
  }

  #conclude(request: AdmissionRequest, injection: Injection, start: number): AdmissionAnswer {
    const seconds = (performance.now() - start) / 1000
    const { outcome } = injection
    const metadata = objectOf(request.object?.metadata)
    const facts = {
      namespace: request.namespace,
      pod: textOf(metadata.name) || `${textOf(metadata.generateName)}*`,
      outcome,
      dryRun: request.dryRun,
      milliseconds: Math.round(seconds * 1e4) / 10,
    }
    this.#seconds.observe({ outcome }, seconds)
    switch (injection.outcome) {
      case 'skipped':
        this.#decisions.inc({ outcome, reason: injection.reason })
        this.#logAfterAnswer(
          injection.warns === true ? 'warn' : 'info',
          { ...facts, reason: injection.reason },
          injection.message,
        )
        return { allowed: true, warnings: injection.warns === true ? [injection.message] : [] }
      case 'injected': {
        const { uuid, sidecarClass, message, operations, warnings } = injection
        this.#decisions.inc({ outcome, reason: injection.again ? 'again' : 'new' })
        this.#logAfterAnswer('info', { ...facts, uuid, class: sidecarClass, again: injection.again }, message)
        return { allowed: true, operations, warnings }
      }
      case 'refused': {
        const { code, message } = injection.error
        this.#decisions.inc({ outcome, reason: code })
        this.#logAfterAnswer('warn', { ...facts, code }, message)
        const passing = PASSING.has(code) || DRIVER_FAULTS.has(code)
        return {
          allowed: false,
          code: passing ? 503 : 422,
          reason: passing ? 'ServiceUnavailable' : 'Invalid',
          message: `${message} [${code}]`,
          warnings: [],
        }
      }
    }
  }

  /** The API server waits for the answer, and a line of the log may wait for anyone who reads it. */
  #logAfterAnswer(level: 'info' | 'warn', facts: Readonly<Record<string, unknown>>, message: string): void {
    setImmediate(() => this.#options.logger[level](facts, message))
  }
}

function timedOut(milliseconds: number): OsmError<InjectorErrorCode> {
  return new OsmError<InjectorErrorCode>(
    'OSM_INJECT_TIMEOUT',
    `the pod was not ready to be admitted within ${milliseconds} ms; it will be tried again`,
  )
}

function codedError(error: unknown): OsmError {
  if (isOsmError(error)) return error
  const message = errorMessage(error)
  return new OsmError<InjectorErrorCode>('OSM_INJECT_FAULT', `injection failed: ${message}`, { cause: error })
}
