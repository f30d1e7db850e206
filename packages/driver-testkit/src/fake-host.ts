import { X509Certificate } from 'node:crypto'

import {
  type ApplyReport,
  type ControllerContext,
  type Credential,
  type DebugHandlers,
  type DebugResponse,
  type EndpointsUpdate,
  type Eviction,
  type MeshConfigView,
  OsmError,
  type Principal,
  type ProxyObservation,
  type ProxyRef,
  type ProxyUUID,
  type ServiceIdentity,
  type SpiffeId,
} from '@osm-ts/driver-api'
import { hostContracts } from '@osm-ts/driver-api/host'
import {
  type EndpointsPart,
  hashPart,
  type Part,
  type PartHash,
  type PartRef,
  partRefs,
  type PolicyUpdate,
  type ProxyPart,
} from '@osm-ts/driver-api/policy'
import { Latest } from '@osm-ts/driver-api/toolkit'

import { meshConfig } from './injector-context.js'
import { Queue } from './queue.js'
import { testAuthority } from './test-certificates.js'

const TRUST_DOMAIN = 'cluster.local'

/** DNS name in the control-plane certificates of a {@link FakeHost}. */
export const SERVER_NAME = 'ads'

/** A host of one driver, with certificates of its own. Its proxies and their policies are what a test says. */
export class FakeHost {
  readonly controlPlane = testAuthority('control-plane')
  readonly services = testAuthority('services')
  readonly reports: ApplyReport[] = []
  readonly observations: ProxyObservation[] = []
  readonly ended: string[] = []
  /** Whether drivers that can take it get certificates for the keys of proxies. */
  serviceCertificates: 'shared' | 'perProxy' = 'shared'
  /** Certificates that were issued for the keys of proxies, in order. */
  readonly forProxyKeys: Credential[] = []
  readonly logs: {
    readonly level: string
    readonly fields: Readonly<Record<string, unknown>>
    readonly message: string
  }[] = []
  readonly metrics = new Map<string, number>()
  readonly cancelled: Error[] = []
  readonly serverTrust = new Latest<{ credential: Credential; clientRoots: { id: string; certificates: string[] } }>()
  readonly roots = new Latest<{ id: string; certificates: string[] }>()
  readonly #stop = new AbortController()
  readonly #meshConfig = new Latest<MeshConfigView>()
  readonly #evictions = new Queue<Eviction>()
  readonly #endpoints = new Queue<EndpointsUpdate>()
  readonly #followsEndpoints: boolean
  #generation = 0
  readonly #policies = new Map<string, Latest<PolicyUpdate>>()
  readonly #identities = new Map<string, Latest<Credential>>()
  readonly #secrets = new Map<string, Latest<Credential>>()
  readonly #parts = new Map<PartHash, Part>()
  readonly #before = new Map<string, readonly PartRef[]>()
  readonly #pages = new Map<string, Parameters<DebugHandlers['register']>[1]>()
  readonly #known = new Set<string>()
  /** DER of the certificates that sessions have begun with. */
  readonly #peers = new Map<string, Uint8Array>()
  readonly #class: string
  #sessions = 0
  #revision = 0

  /**
   * @param sidecarClass - of every proxy
   * @param followsEndpoints - whether the driver is one that follows endpoints
   */
  constructor(sidecarClass: string, followsEndpoints = false) {
    this.#class = sidecarClass
    this.#followsEndpoints = followsEndpoints
    this.#meshConfig.set(meshConfig)
    this.rotateServer('ads-1')
    this.roots.set({ id: '1', certificates: [this.services.certificate] })
  }

  /** A proxy of that identity, with its certificate. */
  admit(
    uuid: string,
    identity = 'bookbuyer.default',
  ): { readonly commonName: string; readonly credential: Credential } {
    const commonName = `${uuid}.sidecar.${identity}.${TRUST_DOMAIN}`
    this.#known.add(commonName)
    this.rotateIdentity(identity)
    return { commonName, credential: this.controlPlane.issue(commonName) }
  }

  forget(commonName: string): void {
    this.#known.delete(commonName)
  }

  rotateServer(name: string, clientRoots = [this.controlPlane.certificate]): void {
    const credential = this.controlPlane.issue(name, { dns: [SERVER_NAME] })
    this.serverTrust.set({ credential, clientRoots: { id: name, certificates: clientRoots } })
  }

  rotateIdentity(identity: string): Credential {
    const credential = this.services.issue(`${identity}.${TRUST_DOMAIN}`)
    this.giveIdentity(identity, credential)
    return credential
  }

  /** Replaces the certificate of an identity by that one. */
  giveIdentity(identity: string, credential: Credential): void {
    this.#latest(this.#identities, identity).set(credential)
  }

  /** What is in a Secret, `<namespace>/<name>`, from now on. Proxies are given it whatever their policy names. */
  setSecret(name: string, credential: Credential): void {
    this.#latest(this.#secrets, name).set(credential)
  }

  evict(uuid: string, session: string, reason: Eviction['reason']): void {
    this.#evictions.push({ uuid: uuid as ProxyUUID, session, reason })
  }

  /** Gives a proxy another policy: a proxy part without anything to serve or to call, with these changes and parts. */
  publishPolicy(uuid: string, changes: Partial<ProxyPart> = {}, parts: readonly Part[] = []): number {
    const trust = { kind: 'trust', id: 'trust' } as unknown as Part
    const mesh = { kind: 'mesh', id: 'mesh' } as unknown as Part
    for (const part of [trust, mesh, ...parts]) {
      const hash = hashPart(part)
      // A part whose endpoints were given stands for them.
      if (part.kind !== 'endpoints' || !this.#parts.has(hash)) this.#parts.set(hash, frozen(part))
    }
    const proxy: ProxyPart = frozen({
      ...proxyPart(uuid, this.#class),
      trust: hashPart(trust),
      mesh: hashPart(mesh),
      ...changes,
    })
    const refs = this.#refsOf(proxy)
    const before = this.#before.get(uuid) ?? []
    this.#before.set(uuid, refs)
    this.#revision += 1
    this.#latest(this.#policies, uuid).set({
      revision: this.#revision,
      version: hashPart(proxy),
      proxy,
      added: refs.filter(({ hash }) => !before.some((ref) => ref.hash === hash)),
      removed: before.filter(({ hash }) => !refs.some((ref) => ref.hash === hash)),
    })
    return this.#revision
  }

  /**
   * Gives a part other endpoints, for a driver that follows them: policies refer to it by the hash of the part without endpoints, which is among their parts.
   *
   * @returns the generation of the endpoints
   */
  setEndpoints(part: EndpointsPart): number {
    const hash = hashPart({ ...part, endpoints: [] })
    this.#parts.set(hash, frozen(part))
    this.#generation += 1
    this.#endpoints.push({ generation: this.#generation, parts: [{ hash, part }] })
    return this.#generation
  }

  async page(path: string, query: Readonly<Record<string, string>> = {}): Promise<DebugResponse> {
    const handler = this.#pages.get(path)
    if (handler === undefined) throw new Error(`there is no page ${path}`)
    return handler({ path, query })
  }

  /** Everything that was logged, shown or reported, as text: what a secret must not be in. */
  async everythingSaid(): Promise<string> {
    const pages = await Promise.all([...this.#pages.keys()].map(async (path) => this.page(path)))
    return JSON.stringify([
      this.logs,
      this.reports,
      this.observations,
      pages.map(({ body }) => body),
      [...this.metrics],
    ])
  }

  stop(): void {
    this.#stop.abort()
  }

  context(changes: Partial<ControllerContext> = {}): ControllerContext {
    const count = (name: string, labels: Readonly<Record<string, string>>, by: number) => {
      const key = [name, ...Object.values(labels)].join(' ')
      this.metrics.set(key, (this.metrics.get(key) ?? 0) + by)
    }
    const log = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
      this.logs.push({ level, fields, message })
    }
    const nothing = async function* (): AsyncIterable<never> {
      // Nothing is to be had.
    }
    return {
      contract: hostContracts.max,
      proxyServerAddress: '127.0.0.1',
      proxyServerPort: 0,
      proxyServiceCert: { watch: (signal) => this.serverTrust.watch(signal) },
      osmNamespace: 'osm-system',
      configurator: { current: async () => meshConfig, watch: (signal) => this.#meshConfig.watch(signal) },
      meshCatalog: {
        policies: { watch: ({ uuid }, signal) => this.#fresh(this.#latest(this.#policies, uuid).watch(signal), uuid) },
        parts: { get: async (hash) => this.#part(hash) },
        ...(this.#followsEndpoints && {
          endpoints: { watch: (signal: AbortSignal) => this.#endpoints.watch(signal) },
        }),
      },
      certManager: {
        identity: ({ identity, session }, signal, { key } = {}) =>
          this.#identity(identity, signal, key === 'proxy' ? this.#peers.get(session) : undefined),
        trustBundles: (signal) => this.roots.watch(signal),
        credentials: (_, ref, signal) =>
          ref.kind === 'secret' ? this.#latest(this.#secrets, `${ref.namespace}/${ref.name}`).watch(signal) : nothing(),
      },
      msgBroker: { subscribe: nothing },
      proxies: {
        authenticate: async (peer) => this.#authenticate(peer),
        disconnected: async (session) => void this.ended.push(session),
        evictions: (signal) => this.#evictions.watch(signal),
        report: async (report) => void this.reports.push(report),
        observe: async (observation) => void this.observations.push(observation),
      },
      debugHandlers: { register: (path, handler) => void this.#pages.set(path, handler) },
      metrics: {
        counter: (name) => ({ inc: (labels, by = 1) => count(name, labels, by) }),
        gauge: (name) => ({ set: (_, value) => void this.metrics.set(name, value) }),
        histogram: (name) => ({ observe: (labels) => count(name, labels, 1) }),
      },
      logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
      driverConfig: {},
      cancel: (reason) => void this.cancelled.push(reason),
      signal: this.#stop.signal,
      ...changes,
    }
  }

  #authenticate(peer: Uint8Array): ProxyRef {
    const commonName = /CN=(\S+)/.exec(new X509Certificate(peer).subject)?.[1] ?? ''
    const [, uuid = '', identity = ''] = /^([^.]+)\.sidecar\.(.+)\.cluster\.local$/.exec(commonName) ?? []
    if (uuid === '') throw new OsmError('OSM_PROXY_UNAUTHENTICATED', 'that is not a proxy certificate')
    if (!this.#known.has(commonName)) throw new OsmError('OSM_PROXY_UNKNOWN', 'that workload does not exist')
    this.#sessions += 1
    this.#peers.set(`session-${this.#sessions}`, peer)
    return {
      uuid: uuid as ProxyUUID,
      identity: identity as ServiceIdentity,
      principal: `${identity}.${TRUST_DOMAIN}` as Principal,
      namespace: 'default',
      class: this.#class,
      commonName,
      session: `session-${this.#sessions}`,
    }
  }

  /** The certificate of an identity, or one for the key of a peer, issued again whenever that of the identity is. */
  async *#identity(identity: string, signal: AbortSignal, peer: Uint8Array | undefined): AsyncIterable<Credential> {
    for await (const shared of this.#latest(this.#identities, identity).watch(signal)) {
      if (peer === undefined || this.serviceCertificates === 'shared') {
        yield shared
        continue
      }
      const own = this.services.issueFor(peer, `${identity}.${TRUST_DOMAIN}`)
      this.forProxyKeys.push(own)
      yield own
    }
  }

  /** Everything that a policy refers to, the members of its sets included, each once. */
  #refsOf(proxy: ProxyPart): readonly PartRef[] {
    const refs = new Map<PartHash, PartRef>()
    const visit = (parent: Part) => {
      for (const hash of partRefs(parent)) {
        if (refs.has(hash)) continue
        const part = this.#parts.get(hash)
        refs.set(hash, { kind: part?.kind ?? 'mesh', id: part?.id ?? '', hash })
        if (part !== undefined) visit(part)
      }
    }
    visit(proxy)
    return [...refs.values()]
  }

  #part(hash: PartHash): Part {
    const part = this.#parts.get(hash)
    if (part === undefined) throw new OsmError('OSM_PART_UNKNOWN', `there is no part ${hash}`)
    return part
  }

  /** A reader that starts sees everything as added. */
  async *#fresh(updates: AsyncIterable<PolicyUpdate>, uuid: string): AsyncIterable<PolicyUpdate> {
    let first = true
    for await (const update of updates) {
      yield first ? { ...update, added: this.#before.get(uuid) ?? [], removed: [] } : update
      first = false
    }
  }

  #latest<T>(map: Map<string, Latest<T>>, key: string): Latest<T> {
    const latest = map.get(key) ?? new Latest<T>()
    map.set(key, latest)
    return latest
  }
}

/** A proxy part without anything to serve or to call. */
export function proxyPart(uuid: string, sidecarClass: string): ProxyPart {
  return {
    kind: 'proxy',
    id: uuid as ProxyUUID,
    identity: 'bookbuyer.default' as ServiceIdentity,
    principal: 'bookbuyer.default.cluster.local' as Principal,
    spiffeId: 'spiffe://cluster.local/bookbuyer/default' as SpiffeId,
    class: sidecarClass,
    mode: 'explicit',
    namespace: 'default',
    workload: { kind: 'Workload', name: 'bookbuyer', instance: 'bookbuyer' },
    locality: { region: '', zone: '', subZone: '' },
    cluster: '',
    ipFamilies: ['IPv4'],
    addresses: ['127.0.0.1'],
    listen: {},
    probes: [],
    inbound: [],
    ingress: [],
    outboundBindings: [],
    trust: '' as PartHash,
    mesh: '' as PartHash,
    extensions: [],
  }
}

/** Anyone who writes to what a host hands out is found by it. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) frozen(member)
  return Object.freeze(value)
}
