import {
  type ClientRetry,
  type EgressPart,
  type OutboundPart,
  type PartRef,
  type ProxyPart,
  refOf,
  type PartInSet,
} from '@osm-ts/driver-api/policy'

import { encodedResource } from '../../resources/encoded-resource.js'
import { LayeredResourceSet, ResourceLayer } from '../../resources/layered-resource-set.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'
import { type BreakersByCluster, breakersOfOutbound, breakersOfRoutes, keyOf } from '../upstreams/breakers.js'
import {
  egressVirtualHost,
  forwardProxyFallback,
  passthroughVirtualHost,
  takesAnyHost,
} from '../egress/egress-routes.js'
import { isHttp } from './http-protocol.js'
import { hostsOf, inboundVirtualHost } from '../inbound/inbound-routes.js'
import { ingressVirtualHost } from '../ingress/ingress-routes.js'
import { groupBy } from '../encoding/group-by.js'
import type { Memo, MemoTable } from '../encoding/memo.js'
import { names } from '../encoding/names.js'
import {
  chosenRouteConfiguration,
  type HostForm,
  outboundRouteConfiguration,
  outboundVirtualHost,
  serviceRouteConfiguration,
  withRetries,
} from '../outbound/outbound-routes.js'
import { needsOwnChain } from '../outbound/shared-chains.js'
import type { Served } from '../policy-reader.js'
import { SharedRouteTranslation } from './shared-routes.js'
import type { ProxyView } from '../proxy-view.js'
import type { KeptByPorts } from '../inbound/served-routes.js'

/** An encoded virtual host with what it was made of. */
interface VirtualHost {
  readonly value: Uint8Array
  readonly sources: readonly PartRef[]
}

/** Retries of one identity, by id of the outbound part. */
type Retries = ReadonlyMap<string, ClientRetry['policy']>

/** Route configurations of proxies. */
export class RouteTranslation {
  readonly #virtualHosts: MemoTable<Uint8Array>
  readonly #configurations: MemoTable<EncodedResource>
  readonly #shared: SharedRouteTranslation
  readonly #layers: MemoTable<ResourceLayer>
  readonly #sets: MemoTable<ResourceSet>

  constructor(memo: Memo) {
    this.#virtualHosts = memo.table()
    this.#configurations = memo.table()
    this.#shared = new SharedRouteTranslation(memo)
    this.#layers = memo.table()
    this.#sets = memo.table()
  }

  translate(view: ProxyView): ResourceSet {
    const served = view.served.filter(({ part }) => isHttp(part.protocol))
    const inbound = [
      view.settings.trust.trustDomain,
      keptBy(view),
      served.map(({ binding }) => binding.part),
      view.servedOutside.map(({ binding }) => binding.part),
    ]
    const outbound = outboundKey(view)
    return this.#sets.get(JSON.stringify([inbound, outbound]), () => {
      const called = this.#layers.get(JSON.stringify(['outbound', outbound]), () => this.#outbound(view))
      const own = this.#layers.get(JSON.stringify(['inbound', inbound]), () => this.#inbound(served, view))
      return new LayeredResourceSet([called, own])
    })
  }

  #inbound(served: readonly Served[], view: ProxyView): ResourceLayer {
    return new ResourceLayer([
      ...[...groupBy(served, ({ part }) => part.targetPort)].map(([port, services]) =>
        this.#inboundPort(port, services, view),
      ),
      ...this.#ingress(view),
    ])
  }

  #ingress(view: ProxyView): readonly EncodedResource[] {
    const servedOutside = view.servedOutside.filter(({ part }) => isHttp(part.protocol))
    if (servedOutside.length === 0) return []
    const kept = keptBy(view)
    const virtualHosts = servedOutside.map(({ binding, part, callers }) =>
      this.#virtualHosts.get(JSON.stringify(['ingress', binding.part, kept]), () =>
        ingressVirtualHost(part, callers, kept),
      ),
    )
    const sources = servedOutside.flatMap((service) => service.sources)
    const value = chosenRouteConfiguration(names.ingressRoutes, virtualHosts)
    return [encodedResource(names.ingressRoutes, value, unique(sources))]
  }

  #inboundPort(port: number, services: readonly Served[], view: ProxyView): EncodedResource {
    const { trustDomain } = view.settings.trust
    const kept = keptBy(view)
    const key = JSON.stringify(['inbound', port, trustDomain, kept, services.map(({ binding }) => binding.part)])
    return this.#configurations.get(key, () => {
      const taken = new Set(services.flatMap(({ part }) => part.serverNames))
      const virtualHosts = services.map(({ part, rules }) => {
        const hostsOfOthers = hostsOf(part).filter((host) => taken.has(host) && !part.serverNames.includes(host))
        for (const host of hostsOf(part)) taken.add(host)
        return inboundVirtualHost({ part, rules, trustDomain, hostsOfOthers, ...kept })
      })
      const sources = services.flatMap((service) => service.sources)
      return encodedResource(
        names.inboundRoutes(port),
        chosenRouteConfiguration(names.inboundRoutes(port), virtualHosts),
        sources,
      )
    })
  }

  #outbound(view: ProxyView): ResourceLayer {
    const { proxy, reader } = view
    const { list } = reader.members(proxy.outbound, 'outbound')
    const called = list.filter(({ part }) => part.rules.kind === 'http')
    const retries = retriesOf(view)
    if (proxy.mode === 'explicit') return new ResourceLayer(this.#forwardProxy(called, retries, view))
    const outside = this.#httpEgress(view)
    return new ResourceLayer([
      ...this.#services(called, retries, view),
      ...[...groupBy(outside, ({ part }) => part.port)].map(([port, members]) => egressPort(port, members, view)),
    ])
  }

  /** Route configurations of called services in transparent mode. */
  #services(called: readonly PartInSet<OutboundPart>[], retries: Retries, view: ProxyView): readonly EncodedResource[] {
    const byId = new Map(called.map((member) => [member.part.id, member]))
    const keyOfMember = ({ part, ref, shortNames }: PartInSet<OutboundPart>): unknown => [
      ref.hash,
      keyOf(breakersOfOutbound(part, view.breakers.byCluster)),
      ...(retries.has(part.id) ? [retries.get(part.id), view.proxy.clientRules] : []),
      shortNames,
    ]
    const { clientRules } = view.proxy
    const source =
      clientRules === undefined ? undefined : refOf(view.reader.part(clientRules, 'clientRules'), clientRules)
    // No chain uses the routes of a service that has no address.
    const own = called
      .filter(({ part }) => part.addresses.length > 0 && needsOwnChain(part, view))
      .map((member) => {
        const others = (member.part.sharedWith ?? []).flatMap((id) => byId.get(id) ?? [])
        return this.#configurations.get(JSON.stringify(['service', ...[member, ...others].map(keyOfMember)]), () => {
          const virtualHosts = [
            this.#virtualHost(member, retries, 'dialled', view),
            ...others.map((other) => this.#virtualHost(other, retries, 'sharing', view)),
          ]
          return configuration(names.serviceRoutes(member.part), virtualHosts, serviceRouteConfiguration)
        })
      })
    return [...own, ...this.#shared.translate(called, { byOutbound: retries, source }, view)]
  }

  #httpEgress({ proxy, reader }: ProxyView): readonly PartInSet<EgressPart>[] {
    return reader.members(proxy.egress, 'egress').list.filter(({ part }) => part.protocol === 'http')
  }

  #forwardProxy(
    called: readonly PartInSet<OutboundPart>[],
    retries: Retries,
    view: ProxyView,
  ): readonly EncodedResource[] {
    if (view.proxy.listen.outboundHttp === undefined) return []
    // What is called by addresses alone is not called through a forward proxy.
    const named = called.filter(({ part }) => part.hosts.length > 0)
    const virtualHosts = named.map((member) => this.#virtualHost(member, retries, 'explicit', view))
    const outside = this.#httpEgress(view)
    const { egressGatewayRoutes, breakers } = view
    const namedOutside = outside
      .filter(({ part }) => !takesAnyHost(part))
      .map((member) => outsideVirtualHost(member, 'explicit', view))
    const anyHost = outside.filter(({ part }) => takesAnyHost(part))
    const fallback = {
      value: forwardProxyFallback(
        anyHost.map(({ part }) => part),
        view.settings.mesh.egressEnabled,
        egressGatewayRoutes,
        breakers.byCluster,
      ),
      sources: [
        ...anyHost.flatMap(({ part, ref }) => [ref, ...sourcesOf(breakersOfRoutes(part.routes, breakers.byCluster))]),
        ...egressGatewayRoutes.sources,
        ...view.settings.sources,
      ],
    }
    return [configuration(names.forwardProxyRoutes, [...virtualHosts, ...namedOutside, fallback])]
  }

  #virtualHost(
    { part, ref, shortNames }: PartInSet<OutboundPart>,
    retries: Retries,
    form: HostForm,
    { proxy, reader, breakers }: ProxyView,
  ): VirtualHost {
    const own = breakersOfOutbound(part, breakers.byCluster)
    const key = JSON.stringify([ref.hash, shortNames, form, keyOf(own)])
    const shared = this.#virtualHosts.get(key, () => outboundVirtualHost(part, shortNames, form, own))
    const sources = [ref, ...sourcesOf(own)]
    const policy = retries.get(part.id)
    if (policy === undefined || proxy.clientRules === undefined) return { value: shared, sources }
    const rules = refOf(reader.part(proxy.clientRules, 'clientRules'), proxy.clientRules)
    return { value: withRetries(shared, policy), sources: [...sources, rules] }
  }
}

function keptBy({ settings: { mesh } }: ProxyView): KeptByPorts {
  return {
    keepsOtherSpellings: mesh.keepsOtherSpellings === true,
    keepsEscapedSlashes: mesh.keepsEscapedSlashes === true,
  }
}

function outsideVirtualHost(
  { part, ref }: PartInSet<EgressPart>,
  mode: ProxyPart['mode'],
  { egressGatewayRoutes, breakers }: ProxyView,
): VirtualHost {
  const own = breakersOfRoutes(part.routes, breakers.byCluster)
  return {
    value: egressVirtualHost(part, mode, egressGatewayRoutes.byPart.get(part.id), own),
    sources: [ref, ...sourcesOf(own), ...egressGatewayRoutes.sources],
  }
}

function sourcesOf(breakers: BreakersByCluster): readonly PartRef[] {
  return [...breakers.values()].map(({ source }) => source)
}

function egressPort(port: number, members: readonly PartInSet<EgressPart>[], view: ProxyView): EncodedResource {
  const { settings, egressGatewayRoutes } = view
  const virtualHosts: VirtualHost[] = members.map((member) => outsideVirtualHost(member, 'transparent', view))
  if (settings.mesh.egressEnabled && !members.some(({ part }) => takesAnyHost(part))) {
    virtualHosts.push({
      value: passthroughVirtualHost(egressGatewayRoutes.others),
      sources: [...egressGatewayRoutes.sources, ...settings.sources],
    })
  }
  return configuration(names.egressRoutes(port), virtualHosts)
}

function configuration(
  name: string,
  virtualHosts: readonly VirtualHost[],
  build = outboundRouteConfiguration,
): EncodedResource {
  const value = build(
    name,
    virtualHosts.map((virtualHost) => virtualHost.value),
  )
  return encodedResource(name, value, unique(virtualHosts.flatMap(({ sources }) => sources)))
}

/** Everything that the outbound layer depends on. Identities without retries share it. */
function outboundKey(view: ProxyView): readonly unknown[] {
  const { proxy, settings } = view
  const explicit = proxy.mode === 'explicit' && proxy.listen.outboundHttp !== undefined
  return [
    proxy.outbound ?? '',
    retriesOf(view).size > 0 ? proxy.clientRules : '',
    proxy.mode,
    proxy.egress ?? '',
    view.egressGatewayRoutes.key,
    view.breakers.key,
    view.plaintext.key,
    view.retired,
    // What becomes of hosts that nothing names depends on global egress.
    explicit || proxy.egress !== undefined ? settings.key : '',
    explicit,
  ]
}

function retriesOf({ proxy, reader }: ProxyView): Retries {
  if (proxy.clientRules === undefined) return new Map()
  const { retries } = reader.part(proxy.clientRules, 'clientRules')
  return new Map(retries.map(({ outbound, policy }) => [outbound, policy]))
}

function unique(refs: readonly PartRef[]): readonly PartRef[] {
  return [...new Map(refs.map((ref) => [ref.hash, ref])).values()]
}
