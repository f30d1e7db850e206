import { status } from '@grpc/grpc-js'
import type { ApplyReport, Credential, Logger, ProxyRef } from '@osm-ts/driver-api'
import type { PartRef, PolicyUpdate } from '@osm-ts/driver-api/policy'
import { errorMessage, type SecretCredentialRef } from '@osm-ts/driver-api/toolkit'

import {
  CALLERS_SECRET_PREFIX,
  egressCertSecret,
  egressRootsSecret,
  type EncodedResource,
  type LiveEndpoints,
  type ProxyResources,
  type ResourceSet,
  SERVICE_CERT_SECRET,
  type TranslatedType,
} from '../resources/types.js'
import { ApplyTracker } from './policies/apply-tracker.js'
import { resourcesNamedBy } from './state/named-resources.js'
import { limits } from './limits.js'
import type { PolicyFollower } from './policies/policy-follower.js'
import type { AnyRequest, Protocol } from './state/protocols.js'
import { PushHistory } from './state/push-history.js'
import type { Acknowledgement, Push, StreamState, VersionLabels } from './state/push.js'
import { redact } from './redact.js'
import { egressSecrets, secretSet, serviceCertificate } from './credentials/secrets.js'
import { StreamRefusal } from './stream-refusal.js'
import type { DrainEpochs, RefusalTracer, ResourceDiffer } from './policies/translator-port.js'
import { epochsOf } from './state/version-label.js'
import type { XdsMetrics } from './xds-metrics.js'
import { typeUrls, type XdsType, xdsTypeOf } from './xds-types.js'

/** Denials that a stream may cause to be logged; a proxy can ask as often as it likes. */
const MAX_LOGGED_DENIALS = 5

/** Which types a stream is about. */
export interface StreamScope {
  readonly types: readonly XdsType[]
  /** Types for which an empty first request means everything. */
  readonly wildcardTypes: readonly XdsType[]
}

/** What a session is made with. */
export interface ProxySessionOptions<Request extends AnyRequest> {
  readonly proxy: ProxyRef
  readonly protocol: Protocol<Request>
  readonly scope: StreamScope
  /** Makes nonces unique beyond the stream. */
  readonly tag: string
  readonly follower: PolicyFollower
  readonly diff: ResourceDiffer
  readonly trace: RefusalTracer
  readonly metrics: XdsMetrics
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Milliseconds for which connections of a filter chain that is gone are drained. */
  readonly drainMs: number
  /** Tells the generation of endpoints that all sessions have been told of. */
  readonly endpointsGeneration: () => number
  /** Told when the proxy has refused something: certainly for its service certificate, or perhaps. */
  readonly onCertificateRefused?: (isCertain: boolean) => void
}

/** One proxy on one stream: what it is to have, what it has, and what the host is told about it. Knows nothing of connections. */
export class ProxySession<Request extends AnyRequest> {
  readonly proxy: ProxyRef
  readonly history = new PushHistory()
  readonly connectedAt: string
  readonly #options: ProxySessionOptions<Request>
  readonly #state: StreamState<Request>
  readonly #tracker: ApplyTracker
  readonly #seen = new Set<XdsType>()
  /** First requests that can't be compared yet. */
  #routeClaims: Request | undefined
  #secretClaims: Request | undefined
  #certificate: EncodedResource | undefined
  #keyFile: string | undefined
  #roots: EncodedResource | undefined
  #shown: readonly EncodedResource[] = []
  /** Client certificates of Secrets, with their roots, by SDS name. */
  readonly #credentials = new Map<string, readonly EncodedResource[]>()
  /** SDS names that a policy of this session has given a meaning to. */
  readonly #credentialNames = new Set<string>()
  /** The type that requests of a stream of one type need not name. */
  readonly #onlyType: XdsType | undefined
  #labelled: { readonly epochs: DrainEpochs; readonly routes: ResourceSet; readonly labels: VersionLabels } | undefined
  #denials = 0
  /** Generation of endpoints that the session was told of. */
  #endpoints = 0

  constructor(options: ProxySessionOptions<Request>) {
    this.#options = options
    this.proxy = options.proxy
    this.connectedAt = new Date(options.now()).toISOString()
    const { types, wildcardTypes } = options.scope
    this.#onlyType = types.length === 1 ? types[0] : undefined
    this.#state = options.protocol.createState({
      types,
      wildcardTypes,
      tag: options.tag,
      resourcesNamedBy,
      diff: options.diff,
      drain: { ms: options.drainMs, now: options.now },
    })
    this.#tracker = new ApplyTracker(options.proxy.session, (message, resource) =>
      options.trace(message, resource, (hash) => options.follower.find(hash)),
    )
  }

  get variant(): string {
    return this.#options.protocol.variant
  }

  get resources(): ProxyResources | undefined {
    return this.#options.follower.resources
  }

  /** True if the sidecar says where it has the key of its proxy certificate. */
  get hasKey(): boolean {
    return this.#keyFile !== undefined
  }

  get settled(): boolean {
    return this.#state.settled
  }

  /**
   * Takes a request.
   *
   * @returns true if it answers a response
   * @throws StreamRefusal if it ends the stream
   */
  receive(incoming: Request): boolean {
    const request = this.#withType(incoming)
    this.#checkNode(request)
    this.#keyFile ??= request.keyFile
    const type = xdsTypeOf(request.typeUrl)
    if (type === undefined || !this.#options.scope.types.includes(type)) return false
    this.#options.metrics.requested(type)
    if (!this.#seen.has(type)) this.#receiveFirst(type, request)
    if (type === 'secret') this.#noteForeignSecrets(request)
    const outcome = this.#state.request(request)
    if (outcome !== undefined) this.#note(outcome)
    if (this.#state.subscribedNames > limits.maxSubscribedNames) {
      this.#warn('OSM_ENVOY_REQUEST_INVALID', {}, 'proxy asks for too many resources')
      throw new StreamRefusal(status.RESOURCE_EXHAUSTED, `at most ${limits.maxSubscribedNames} names may be asked for`)
    }
    return outcome !== undefined
  }

  /** Moves on to another policy. A policy that can't be translated is reported and leaves everything as it was. */
  async applyPolicy(update: PolicyUpdate): Promise<ApplyReport | undefined> {
    let resources: ProxyResources
    try {
      resources = await this.#options.follower.apply(update)
    } catch (error) {
      const reason = errorMessage(error)
      this.#options.logger.error(
        { ...this.#who(), code: 'OSM_ENVOY_TRANSLATION', revision: update.revision, error: redact(reason) },
        'policy cannot be translated, the last good configuration stays in force',
      )
      return this.#tracker.fail(update, `OSM_ENVOY_TRANSLATION: ${reason}`)
    }
    this.#tracker.update(update)
    this.#show(resources)
    this.#drainMissed()
    return undefined
  }

  /** These endpoints have become others, or were looked at again, with that generation. */
  renewEndpoints(endpoints: LiveEndpoints, generation: number): void {
    this.#endpoints = generation
    // Those of a policy that is about to be shown are shown with it.
    if (endpoints === this.resources?.endpoints) this.catchUpEndpoints()
  }

  /** Takes in what has become of the endpoints of the policy between its translation and now. */
  catchUpEndpoints(): void {
    const { resources } = this
    if (resources !== undefined) this.#state.showEndpoints(resources.endpoints)
  }

  setCertificate(credential: Credential): void {
    this.#certificate = serviceCertificate(credential, this.#keyFile)
    this.#showSecrets()
  }

  /** Takes in a client certificate that the policy names. */
  setCredential(ref: SecretCredentialRef, credential: Credential): void {
    this.#credentials.set(egressCertSecret(ref), egressSecrets(ref, credential))
    this.#showSecrets()
  }

  setRoots(roots: EncodedResource): void {
    this.#roots = roots
    this.#drainMissed()
    this.#showSecrets()
  }

  /** False if it is certain, without looking closer, that {@link next} gives nothing. */
  get mayBeDue(): boolean {
    return this.#state.mayBeDue || this.#options.follower.nextInMs === 0
  }

  /** True while a response waits for its answer. */
  get awaitsAnswer(): boolean {
    return this.#state.awaitsAnswer
  }

  /** The response that is to go out now, if any; from then on it counts as sent. */
  next(): Push | undefined {
    const resources = this.#options.follower.expire()
    if (resources !== undefined) this.#show(resources)
    return this.#state.next()
  }

  /** Milliseconds until {@link next} is to be asked again even if nothing happens; undefined if it need not be. */
  get nextInMs(): number | undefined {
    const [ofClusters, ofServices] = [this.#state.nextInMs, this.#options.follower.nextInMs]
    if (ofClusters === undefined || ofServices === undefined) return ofClusters ?? ofServices
    return Math.min(ofClusters, ofServices)
  }

  /** A response went out. */
  noteSent({ type, version, nonce, resources, removed }: Push, bytes: number): void {
    this.history.add(type, {
      sentAt: this.#options.now(),
      version,
      nonce,
      resources: resources.length,
      removed: removed.length,
      bytes,
      outcome: 'pending',
    })
  }

  /** True if a {@link report} would soon be followed by another, with the next answer of the proxy. A refusal does not wait for that. */
  get goesOn(): boolean {
    return !this.#tracker.isUrgent && !this.#state.hasRefusals && (this.#state.awaitsAnswer || this.mayBeDue)
  }

  /** True if a {@link report} should not wait for an answer of the proxy. */
  get reportIsUrgent(): boolean {
    return this.#tracker.isUrgent
  }

  /** What the host is to be told now; undefined if nothing has changed. */
  report(): ApplyReport | undefined {
    const { settled } = this.#state
    // Of what is settled, everything is applied: there is nothing to look for.
    const endpoints = Math.max(this.#endpoints, this.#options.endpointsGeneration())
    return this.#tracker.report(settled ? [] : this.#state.unapplied(), settled, endpoints)
  }

  /** A stream of one type need not name it. */
  #withType(request: Request): Request {
    if (request.typeUrl !== '' || this.#onlyType === undefined) return request
    return { ...request, typeUrl: typeUrls[this.#onlyType] }
  }

  /** Nothing that a proxy says about itself counts; but one that says something else than its certificate is up to something. */
  #checkNode({ nodeId }: Request): void {
    if (nodeId === undefined || nodeId === '' || nodeId === this.proxy.commonName) return
    this.#warn('OSM_ENVOY_NODE_MISMATCH', { nodeId: nodeId.slice(0, 256) }, 'node id is not that of the certificate')
    throw new StreamRefusal(status.PERMISSION_DENIED, 'the node id is not the common name of the certificate')
  }

  #receiveFirst(type: XdsType, request: Request): void {
    const { protocol, metrics, follower } = this.#options
    const versions = [...protocol.versionsOf(request)].filter((version) => version !== '')
    if (this.#seen.size === 0 && versions.length > 0) metrics.reconnected()
    this.#seen.add(type)
    if (versions.length === 0) return
    if (type === 'listener') {
      const labelled = new Map(versions.flatMap((version) => [...epochsOf(version)]))
      const resources = follower.adopt(labelled)
      if (resources !== undefined) this.#show(resources)
    }
    if (type === 'route') this.#routeClaims = request
    if (type === 'secret') this.#secretClaims = request
    this.#drainMissed()
  }

  /** Rules or roots may have been withdrawn while the proxy was away. What they were is not known, so what came in under them is drained. */
  #drainMissed(): void {
    const { protocol, follower, logger } = this.#options
    if (follower.resources === undefined) return
    let ids: ReadonlySet<string> = new Set()
    let rootsChanged = false
    if (this.#routeClaims !== undefined) ids = protocol.missedRules(this.#routeClaims, follower.resources.types.route)
    this.#routeClaims = undefined
    if (this.#secretClaims !== undefined && this.#roots !== undefined) {
      ids = new Set([...ids, ...protocol.missedCallers(this.#secretClaims, follower.resources.callers)])
      rootsChanged = protocol.missedRoots(this.#secretClaims, this.#roots)
      this.#secretClaims = undefined
    }
    if (!rootsChanged && ids.size === 0) return
    const resources = follower.assumeWithdrawn({ ids, rootsChanged })
    if (resources === undefined) return
    const ports = rootsChanged ? 'all' : [...ids]
    logger.info({ ...this.#who(), ports }, 'rules changed while the proxy was away, its connections are drained')
    this.#show(resources)
  }

  #show(resources: ProxyResources): void {
    this.#state.update(resources, this.#labelsOf(resources.types.route))
    this.#showSecrets()
  }

  /** Labels are created again only where what they are made of is another. */
  #labelsOf(routes: ResourceSet): VersionLabels {
    const { protocol, follower } = this.#options
    const { epochs } = follower
    if (this.#labelled?.epochs !== epochs || this.#labelled.routes !== routes)
      this.#labelled = { epochs, routes, labels: protocol.labels(epochs, routes) }
    return this.#labelled.labels
  }

  /** True if the proxy has its service certificate from elsewhere, or it is here. */
  get #knowsCertificate(): boolean {
    return this.#certificate !== undefined || this.resources?.workloadApi === true
  }

  /** Nothing is said about secrets before all are there: "does not exist" would be untrue. */
  #showSecrets(): void {
    const { protocol, follower } = this.#options
    const callers = follower.resources?.callers
    if (!this.#knowsCertificate || this.#roots === undefined || callers === undefined) return
    const own = this.#certificate === undefined ? [] : [this.#certificate]
    const secrets = [...own, this.#roots, ...callers, ...this.#credentialSecrets()]
    // Policies change often, and rarely in who may call a TCP port.
    const same = secrets.length === this.#shown.length && secrets.every((secret, at) => this.#shown[at] === secret)
    if (same) return
    this.#shown = secrets
    this.#state.updateSecrets(secretSet(secrets), protocol.secretLabel(this.#roots, callers))
  }

  /** Credentials that the policy no longer references are released, so that they are requested again before they are used again. */
  #credentialSecrets(): readonly EncodedResource[] {
    const refs = this.resources?.credentials ?? []
    const named = new Set(refs.map(egressCertSecret))
    for (const ref of refs) {
      this.#credentialNames.add(egressCertSecret(ref))
      this.#credentialNames.add(egressRootsSecret(ref))
    }
    for (const name of this.#credentials.keys()) if (!named.has(name)) this.#credentials.delete(name)
    return [...this.#credentials.values()].flat()
  }

  #noteForeignSecrets(request: Request): void {
    const own = [this.#certificate?.name, this.#roots?.name]
    if (!this.#knowsCertificate || this.#roots === undefined) return
    for (const name of this.#options.protocol.namesOf(request)) {
      // A port that is served no more may be asked about for as long as its connections drain.
      const known = own.includes(name) || name.startsWith(CALLERS_SECRET_PREFIX) || this.#credentialNames.has(name)
      if (known || this.#denials >= MAX_LOGGED_DENIALS) continue
      this.#denials += 1
      this.#warn(
        'OSM_ENVOY_SECRET_DENIED',
        { secret: name.slice(0, 256) },
        'proxy asks for a secret that is not its own',
      )
    }
  }

  #note(outcome: Acknowledgement): void {
    const { type, nonce, kind } = outcome
    const record = this.history.settle(type, nonce, kind)
    const seconds = record === undefined ? 0 : (this.#options.now() - record.sentAt) / 1000
    this.#options.metrics.acknowledged(type, kind === 'ack', seconds)
    if (kind === 'ack') return
    // Both may be made of parts that came with earlier steps.
    if (type === 'endpoints' || type === 'extension') this.#tracker.doubt(this.#sourcesOf(type, outcome.refused))
    // A refusal of a secret may quote it.
    const message = type === 'secret' ? 'withheld' : redact(outcome.error.message)
    const isCertain = outcome.refused.includes(SERVICE_CERT_SECRET)
    if (type === 'secret') this.#options.onCertificateRefused?.(isCertain)
    this.#warn(
      'OSM_ENVOY_XDS_REJECTED',
      { type, nonce, refused: outcome.refused, error: message },
      'proxy refuses a response',
    )
  }

  #sourcesOf(type: TranslatedType, refused: readonly string[]): readonly PartRef[] {
    return refused.flatMap((name) => this.resources?.types[type].get(name)?.sources ?? [])
  }

  #who(): Readonly<Record<string, unknown>> {
    return { proxy: this.proxy.uuid, identity: this.proxy.identity }
  }

  #warn(code: string, fields: Readonly<Record<string, unknown>>, message: string): void {
    this.#options.logger.warn({ ...this.#who(), code, ...fields }, message)
  }
}
