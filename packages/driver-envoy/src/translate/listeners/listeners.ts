import type { Any } from '@bufbuild/protobuf/wkt'
import type { OutboundPart, PartRef, PartInSet, SocketAddress } from '@osm-ts/driver-api/policy'

import { FORWARD_PROXY_DRAIN } from '../../resources/drain-ids.js'
import { encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'
import { breakersOfOutbound } from '../upstreams/breakers.js'
import { breakerFilters } from '../upstreams/statistical-breaker.js'
import { hasMetrics } from '../upstreams/clusters.js'
import { alwaysInspectedPorts, egressChains, inspectedPorts } from '../egress/egress-chain.js'
import { isHttp } from '../routing/http-protocol.js'
import { inboundChain } from '../inbound/inbound-chain.js'
import { ingressChain, ingressMatches } from '../ingress/ingress-chain.js'
import { isEgressAllowed, namedByServers, outboundKey, ownKey } from './layer-keys.js'
import { chainMatcher, type ChainSelector, type SelectedChain, takenBy } from './chain-matcher.js'
import { type ListenerShape, listener } from './listener.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import { names } from '../encoding/names.js'
import {
  type BoundChain,
  boundOutboundChains,
  forwardProxyChain,
  outboundChains,
  outboundManager,
  passthroughChain,
  selectorOf,
  sharedChain,
} from '../outbound/outbound-chain.js'
import type { Served, ServedOutside } from '../policy-reader.js'
import { needsOwnChain, type SharedChain } from '../outbound/shared-chains.js'
import type { SharedManagerTranslation } from '../outbound/shared-managers.js'
import { probeListeners } from '../inbound/probes.js'
import { prometheusChain } from '../telemetry/prometheus.js'
import type { ProxyView } from '../proxy-view.js'
import { workloadMetadata } from '../telemetry/request-metrics.js'
import { tunnelListener } from '../egress/tunnel.js'

/** Listeners of proxies. */
export class ListenerTranslation {
  readonly #chains: MemoTable<Uint8Array>
  readonly #outboundChains: MemoTable<readonly SelectedChain[]>
  readonly #boundChains: MemoTable<readonly BoundChain[]>
  readonly #managers: MemoTable<Any>
  readonly #metricsListeners: MemoTable<readonly EncodedResource[]>
  readonly #sharedSelectors = new WeakMap<OutboundPart, ChainSelector>()
  readonly #sharedManagers: SharedManagerTranslation
  readonly #layers: MemoTable<ResourceLayer>
  readonly #sets: MemoTable<ResourceSet>

  constructor(memo: Memo, sharedManagers: SharedManagerTranslation) {
    this.#sharedManagers = sharedManagers
    this.#chains = memo.table()
    this.#outboundChains = memo.table()
    this.#boundChains = memo.table()
    this.#managers = memo.table()
    this.#metricsListeners = memo.table()
    this.#layers = memo.table()
    this.#sets = memo.table()
  }

  translate(view: ProxyView): ResourceSet {
    const outbound = outboundKey(view)
    const own = ownKey(view)
    return this.#sets.get(JSON.stringify([outbound, own]), () => {
      const called = this.#layers.get(JSON.stringify(['outbound', outbound]), () => this.#outbound(view))
      const served = this.#layers.get(JSON.stringify(['own', own]), () => this.#own(view))
      return new LayeredResourceSet([called, served])
    })
  }

  /** A listener without chains is not published: connections to it are refused, which says more than a reset. */
  #listener(shape: ListenerShape, sources: readonly PartRef[]): readonly EncodedResource[] {
    if (shape.chains.length === 0 && shape.defaultChain === undefined) return []
    return [encodedResource(shape.name, listener(shape), sources)]
  }

  #outbound(view: ProxyView): ResourceLayer {
    const { proxy, reader, settings, egressGatewayRoutes, breakers } = view
    const { outbound, outboundHttp } = proxy.listen
    const tunnels = this.#tunnels(view)
    if (proxy.mode === 'explicit') {
      const shape = outboundHttp && this.#ownShape(view, names.outboundListener, outboundHttp, 'outbound')
      if (shape === undefined) return new ResourceLayer([])
      const chain = forwardProxyChain(settings.mesh, {
        leavesMesh: isEgressAllowed(view),
        hasTunnels: egressGatewayRoutes.key !== '',
        hasBreakers: breakers.byCluster.size > 0,
        drainEpoch: view.drainEpochs.get(FORWARD_PROXY_DRAIN),
      })
      return new ResourceLayer([...this.#listener({ ...shape, chains: [chain] }, settings.sources), ...tunnels])
    }
    if (outbound === undefined) return new ResourceLayer([])
    const outboundMembers = reader.members(proxy.outbound, 'outbound').list
    const egress = reader.members(proxy.egress, 'egress').list
    const outside = egress.map(({ part }) => part)
    const selected = [
      ...outboundMembers.flatMap((member) => this.#outboundChain(member, view)),
      ...egressChains(
        outside,
        settings.mesh,
        namedByServers(view),
        egressGatewayRoutes,
        breakers.byCluster,
        view.drainEpochs,
      ),
    ]
    const always = alwaysInspectedPorts([...outboundMembers.map(({ part }) => part), ...outside])
    const inspected = [...new Set([...always, ...inspectedPorts(outside), ...serverNamePorts(outboundMembers)])].sort(
      (a, b) => a - b,
    )
    const shape = this.#ownShape(view, names.outboundListener, outbound, 'outbound')
    return new ResourceLayer([
      ...this.#listener(
        {
          ...shape,
          inspectsTls: inspected,
          // A service of another namespace may have such a port; it is told by its address.
          expectsSilence: outboundMembers.some(
            ({ part: { protocol, port } }) => protocol === 'tcp-server-first' && inspected.includes(port),
          ),
          // Services may share a chain.
          chains: [...new Set(selected.map(({ value }) => value))],
          ...(selected.length === 0 ? {} : { chainMatcher: chainMatcher(selected.map(({ selector }) => selector)) }),
          ...(settings.mesh.egressEnabled
            ? { defaultChain: passthroughChain(settings.mesh, egressGatewayRoutes.others) }
            : {}),
        },
        [
          ...outboundMembers.map(({ ref }) => ref),
          ...egress.map(({ ref }) => ref),
          ...egressGatewayRoutes.sources,
          ...settings.sources,
        ],
      ),
      ...tunnels,
    ])
  }

  #tunnels({ egressGatewayRoutes, settings }: ProxyView): readonly EncodedResource[] {
    const sources = [...egressGatewayRoutes.sources, ...settings.sources]
    return [...egressGatewayRoutes.tunnels.values()].map((tunnel) =>
      encodedResource(tunnel.name, tunnelListener(tunnel, settings.mesh), sources),
    )
  }

  #outboundChain({ part, ref }: PartInSet<OutboundPart>, view: ProxyView): readonly SelectedChain[] {
    const { mesh, key } = view.settings
    const shared = view.sharedChains.of(part)
    if (shared !== undefined && !needsOwnChain(part, view)) {
      if (part.addresses.length === 0) return []
      const value = this.#chains.get(`shared ${shared.key} ${key}`, () =>
        sharedChain(shared, this.#sharedManagers.managerOf(shared, view.settings).name),
      )
      return [{ value, selector: this.#sharedSelector(part, shared) }]
    }
    const hasBreakers = breakersOfOutbound(part, view.breakers.byCluster).size > 0
    const manager = (port: number): Any => this.#manager(port, hasBreakers ? 'breakers' : 'none', view)
    return this.#outboundChains.get(JSON.stringify([ref.hash, key, hasBreakers]), () =>
      outboundChains(part, mesh, manager),
    )
  }

  #sharedSelector(part: OutboundPart, { port, shard }: SharedChain): ChainSelector {
    let selector = this.#sharedSelectors.get(part)
    if (selector === undefined) {
      selector = selectorOf(part, names.sharedOutboundChain(port, shard))
      this.#sharedSelectors.set(part, (selector = { ...selector, onMatch: takenBy(selector.chain) }))
    }
    return selector
  }

  #manager(port: number, filters: keyof typeof managerFilters, { settings }: ProxyView): Any {
    return this.#managers.get(JSON.stringify([port, settings.key, filters]), () =>
      outboundManager(port, settings.mesh, managerFilters[filters]()),
    )
  }

  #own(view: ProxyView): ResourceLayer {
    return new ResourceLayer([
      ...(view.proxy.mode === 'explicit' ? this.#bound(view) : this.#inbound(view)),
      ...this.#metrics(view),
      ...this.#probes(view),
    ])
  }

  #inbound(view: ProxyView): readonly EncodedResource[] {
    const { proxy, served, servedOutside, settings } = view
    if (proxy.listen.inbound === undefined) return []
    const shape = this.#ownShape(view, names.inboundListener, proxy.listen.inbound, 'inbound')
    const chains = [
      ...served.map((service) => this.#inboundChain(service, view)),
      ...servedOutside.flatMap((service) => this.#ingressChains(service, view)),
    ]
    const sources = [...[...served, ...servedOutside].flatMap((service) => service.sources), ...settings.sources]
    const expectsSilence = takesBytes(servedOutside)
    return this.#listener({ ...shape, inspectsTls: 'always', expectsSilence, chains }, sources)
  }

  /** Explicit mode: a listener for each port that is served, and for each TCP port that is called. */
  #bound(view: ProxyView): readonly EncodedResource[] {
    const { proxy, reader, served, servedOutside, settings } = view
    const inbound = served.flatMap((service) => {
      const { listen, id } = service.binding
      if (listen === undefined) return []
      const shape = this.#ownShape(view, names.boundInboundListener(id), listen, 'inbound')
      const chains = [this.#inboundChain(service, view)]
      return this.#listener({ ...shape, inspectsTls: 'always', chains }, [...service.sources, ...settings.sources])
    })
    const ingress = [...byAddress(servedOutside)].flatMap(([listen, services]) => {
      const [first] = services
      if (first === undefined) return []
      const shape = this.#ownShape(view, names.boundIngressListener(first.binding.id), listen, 'inbound')
      const chains = services.flatMap((service) => this.#ingressChains(service, view))
      const sources = services.flatMap((service) => service.sources)
      const expectsSilence = takesBytes(services)
      return this.#listener({ ...shape, inspectsTls: 'always', expectsSilence, chains }, [
        ...sources,
        ...settings.sources,
      ])
    })
    const called = new Map(reader.members(proxy.outbound, 'outbound').list.map((member) => [member.part.id, member]))
    const outbound = proxy.outboundBindings.flatMap(({ id, listen }) => {
      const member = called.get(id)
      if (member?.part.rules.kind !== 'tcp') return []
      const { part, ref } = member
      const { rules } = member.part
      const key = JSON.stringify(['bound', ref.hash, settings.key])
      const chains = this.#boundChains.get(key, () => boundOutboundChains(part, rules, settings.mesh))
      const shape = this.#ownShape(view, names.boundOutboundListener(id), listen, 'outbound')
      const values = chains.map(({ value }) => value)
      return this.#listener({ ...shape, ...choosing(chains, listen.port), chains: values }, [ref, ...settings.sources])
    })
    return [...inbound, ...ingress, ...outbound]
  }

  #inboundChain({ binding, part }: Served, { proxy, servedOutside, settings, drainEpochs }: ProxyView): Uint8Array {
    const matchPort = proxy.mode === 'transparent'
    const matchAlpn = matchPort && takesBytes(servedOutside, part.targetPort)
    const drainEpoch = drainEpochs.get(part.id)
    const key = JSON.stringify(['inbound', binding.part, settings.key, matchPort, matchAlpn, drainEpoch])
    const build = (): Uint8Array => inboundChain({ part, matchPort, matchAlpn, drainEpoch }, settings)
    return this.#chains.get(key, build)
  }

  #ingressChains(
    { binding, part }: ServedOutside,
    { proxy, served, settings, drainEpochs }: ProxyView,
  ): readonly Uint8Array[] {
    const matchPort = proxy.mode === 'transparent'
    const drainEpoch = drainEpochs.get(part.id)
    const meshNames = matchPort ? meshNamesOn(part.targetPort, served) : []
    return ingressMatches(part, meshNames).map((match) => {
      const key = JSON.stringify(['ingress', binding.part, settings.key, matchPort, drainEpoch, match])
      const build = (): Uint8Array => ingressChain({ part, match, matchPort, drainEpoch }, settings)
      return this.#chains.get(key, build)
    })
  }

  #metrics(view: ProxyView): readonly EncodedResource[] {
    const { metrics } = view.proxy.listen
    if (metrics === undefined || !hasMetrics(view)) return []
    const shape = { ...this.#ownShape(view, names.prometheusListener, metrics, 'inbound'), redirected: false }
    return this.#metricsListeners.get(JSON.stringify(shape), () =>
      this.#listener({ ...shape, chains: [prometheusChain()] }, []),
    )
  }

  #probes(view: ProxyView): readonly EncodedResource[] {
    return probeListeners(view.proxy.probes).flatMap(({ name, listen, ...chains }) => {
      const shape = this.#ownShape(view, name, listen, 'inbound')
      const inspectsHttp = chains.defaultChain !== undefined
      return this.#listener({ ...shape, ...chains, redirected: false, inspectsHttp }, [])
    })
  }

  #ownShape(
    { proxy }: ProxyView,
    name: string,
    listen: SocketAddress,
    direction: ListenerShape['direction'],
  ): ListenerShape {
    const redirected = proxy.mode === 'transparent'
    const shape = { name, listen, ipFamilies: proxy.ipFamilies, direction, redirected, inspectsTls: 'never' as const }
    const metadata = workloadMetadata(proxy)
    return { ...shape, chains: [], ...(metadata === undefined ? {} : { metadata }) }
  }
}

/** What connection managers of called services have besides the router. */
const managerFilters = {
  none: () => ({}),
  breakers: () => breakerFilters(true),
}

/** Ports at which the server name chooses between services of the mesh. */
function serverNamePorts(members: readonly PartInSet<OutboundPart>[]): readonly number[] {
  return members.flatMap(({ part: { port, rules } }) =>
    rules.kind === 'tcp' && rules.serverNameRoutes !== undefined ? [port] : [],
  )
}

/** How a listener of one port chooses between several chains. */
function choosing(chains: readonly BoundChain[], port: number): Partial<ListenerShape> {
  if (chains.length < 2) return {}
  const selectors = chains.map(({ chain, serverNames }) => ({
    chain,
    port,
    ranges: [],
    ...(serverNames === undefined ? {} : { serverNames }),
  }))
  return { inspectsTls: 'always', chainMatcher: chainMatcher(selectors) }
}

/** True if callers outside the mesh may send bytes that are not HTTP to a port, or to any. */
function takesBytes(servedOutside: readonly ServedOutside[], port?: number): boolean {
  return servedOutside.some(({ part }) => !isHttp(part.protocol) && (port === undefined || part.targetPort === port))
}

/** SNI names by which callers of the mesh select a port; sorted. */
function meshNamesOn(port: number, served: readonly Served[]): readonly string[] {
  return served
    .filter(({ part }) => part.targetPort === port)
    .flatMap(({ part }) => part.serverNames)
    .sort()
}

/** Explicit mode: what is served to callers from outside, by where they connect. */
function byAddress(services: readonly ServedOutside[]): ReadonlyMap<SocketAddress, readonly ServedOutside[]> {
  const groups = new Map<string, readonly [SocketAddress, ServedOutside[]]>()
  for (const service of services) {
    const { listen } = service.binding
    if (listen === undefined) continue
    const key = `${listen.address} ${listen.port}`
    const group = groups.get(key) ?? [listen, []]
    group[1].push(service)
    groups.set(key, group)
  }
  return new Map(groups.values())
}
