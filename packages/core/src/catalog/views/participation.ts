import type { MeshService, ProxyUUID } from '@osm-ts/driver-api'
import { compareText } from '@osm-ts/driver-api/policy'

import { atOnce, type Steps } from '../../async/index.js'
import { proxyOfEndpoint, type Endpoint, type EndpointsProvider } from '../../endpoints/index.js'
import { proxyCommonName, proxyKey, serviceIdentity, type ProxyKey, type TrustDomain } from '../../identity/index.js'
import type { ProxyRecord, ProxyRegistry } from '../../proxies/index.js'
import type {
  EndpointWithoutProxy,
  Participant,
  ParticipationReport,
  ParticipationState,
  ProxyParticipation,
} from '../catalog-types.js'
import type { PolicyComputation } from '../policy-computation.js'
import { nameKey } from '../policy/parts/keys.js'

/**
 * Who takes part in the mesh: issued certificates ∩ connected proxies ∩ discovered endpoints.
 *
 * Certificates and connections are in the registry, endpoints come from their providers, and workloads join the two.
 */
export class Participation {
  readonly #computation: PolicyComputation
  readonly #proxies: ProxyRegistry
  readonly #trustDomain: TrustDomain
  readonly #providers: readonly EndpointsProvider[]

  /** @param providers - in order of precedence */
  constructor(
    computation: PolicyComputation,
    proxies: ProxyRegistry,
    trustDomain: TrustDomain,
    providers: readonly EndpointsProvider[],
  ) {
    this.#computation = computation
    this.#proxies = proxies
    this.#trustDomain = trustDomain
    this.#providers = providers
  }

  report(): ParticipationReport {
    return atOnce(this.reportInSteps())
  }

  /** The same in steps. Of what changes in between, either version may be told. */
  *reportInSteps(): Steps<ParticipationReport> {
    const { snapshot, state } = this.#computation
    const backed = new Map<ProxyKey, MeshService[]>()
    const withoutProxy = new Map<string, EndpointWithoutProxy>()
    for (const { metadata } of snapshot.list('Service')) {
      const service = { namespace: metadata.namespace, name: metadata.name }
      const proxies = new Set<ProxyKey>()
      const providers = this.#providersOf(service)
      for (const endpoint of state?.endpoints.listEndpointsForService(service).items ?? []) {
        const proxy = proxyOfEndpoint(endpoint)
        if (proxy !== undefined) proxies.add(proxy)
        const reason = this.#reasonOf(endpoint, proxy)
        if (reason === undefined) continue
        const { address, port } = endpoint
        const provider = providers().get(addressKey(endpoint))
        const found = { service, address, port, reason, ...(provider !== undefined && { provider }) }
        withoutProxy.set(endpointKey(found), found)
      }
      for (const proxy of proxies) backed.set(proxy, [...(backed.get(proxy) ?? []), service])
      yield
    }
    return { proxies: yield* this.#rows(backed), endpointsWithoutProxy: [...withoutProxy.values()] }
  }

  *#rows(backed: ReadonlyMap<ProxyKey, readonly MeshService[]>): Steps<readonly ProxyParticipation[]> {
    const { snapshot } = this.#computation
    const rows: ProxyParticipation[] = []
    for (const { metadata, spec } of snapshot.list('WorkloadInstance')) {
      yield
      const serviceAccount = { namespace: metadata.namespace, name: spec.serviceAccountName }
      const uuid = spec.uuid as ProxyUUID // the schema of the kind demands the form
      const key = proxyKey({ uuid, serviceAccount })
      const record = this.#proxies.get(key)
      // Of workloads that share a proxy one has it.
      const isOwner = snapshot.instanceOfProxy(key)?.metadata.name === metadata.name
      if (record === undefined || !isOwner) continue
      const services = backed.get(key) ?? []
      rows.push({
        uuid,
        commonName: proxyCommonName({ uuid, serviceAccount }, this.#trustDomain),
        name: `${metadata.namespace}/${metadata.name}`,
        identity: serviceIdentity(serviceAccount),
        state: stateOf(record, services.length > 0),
        services,
      })
    }
    return rows.sort((a, b) => compareText(a.name, b.name))
  }

  /** Providers of the endpoints of a service, looked up when the first is asked for. Of several that know an endpoint the first one holds, as where they are merged. */
  #providersOf(service: MeshService): () => ReadonlyMap<string, string> {
    let found: ReadonlyMap<string, string> | undefined
    return () =>
      (found ??= new Map(
        [...this.#providers]
          .reverse()
          .flatMap((provider) =>
            provider.listEndpointsForService(service).items.map((it) => [addressKey(it), provider.id] as const),
          ),
      ))
  }

  #reasonOf({ cluster, sidecar }: Endpoint, proxy: ProxyKey | undefined): EndpointWithoutProxy['reason'] | undefined {
    // What is in front of an endpoint of another cluster is for that cluster to tell.
    if (cluster !== '') return undefined
    if (sidecar === undefined) return 'noSidecar'
    if (proxy === undefined) return 'otherMesh'
    return this.#proxies.get(proxy)?.session === undefined ? 'notConnected' : undefined
  }
}

/** The participants among the proxies of a report; sorted by uuid, namespace and account. */
export function participantsOf({ proxies }: Pick<ParticipationReport, 'proxies'>): readonly Participant[] {
  return proxies
    .filter(({ state }) => state === 'participant')
    .map(({ uuid, commonName, services }) => ({ uuid, commonName, services }))
    .sort((a, b) => compareText(a.commonName, b.commonName))
}

function stateOf({ certificate, session }: ProxyRecord, hasEndpoint: boolean): ParticipationState {
  if (session === undefined) return certificate === 'unclaimed' ? 'unclaimed' : 'disconnected'
  return hasEndpoint && certificate !== undefined ? 'participant' : 'withoutEndpoint'
}

/** From the least to the most that a replica knows of a proxy. */
const states: readonly ParticipationState[] = ['unclaimed', 'disconnected', 'withoutEndpoint', 'participant']

/** What all replicas know together. A proxy is connected to one of them, and the others do not know of it. */
export function mergeParticipation(replicas: readonly ParticipationReport[]): ParticipationReport {
  const proxies = new Map<string, ProxyParticipation>()
  for (const proxy of replicas.flatMap((replica) => replica.proxies)) {
    const known = proxies.get(proxy.commonName)
    if (known === undefined || states.indexOf(proxy.state) > states.indexOf(known.state))
      proxies.set(proxy.commonName, proxy)
  }
  const withoutProxy = replicas.map(
    ({ endpointsWithoutProxy }) => new Map(endpointsWithoutProxy.map((endpoint) => [endpointKey(endpoint), endpoint])),
  )
  const [first, ...others] = withoutProxy
  return {
    proxies: [...proxies.values()].sort((a, b) => compareText(a.name, b.name)),
    // Its proxy is connected nowhere if no replica has it.
    endpointsWithoutProxy: [...(first ?? [])].flatMap(([key, endpoint]) =>
      others.every((other) => other.has(key)) ? [endpoint] : [],
    ),
  }
}

function addressKey({ address, port }: Pick<Endpoint, 'address' | 'port'>): string {
  return `${address} ${port}`
}

function endpointKey({ service, address, port }: EndpointWithoutProxy): string {
  return [nameKey(service), address, port].join(' ')
}
