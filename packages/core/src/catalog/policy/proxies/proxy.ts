import { isIPv6 } from 'node:net'

import type { MeshService, ProxyUUID, ServiceAccountRef } from '@osm-ts/driver-api'
import {
  compareText,
  type InboundBinding,
  type InboundPart,
  type IngressBinding,
  type IngressPart,
  type ListenAddresses,
  type OutboundBinding,
  type ProxyPart,
} from '@osm-ts/driver-api/policy'

import { allocationKey, localityOf } from '../../../endpoints/index.js'
import { principalOf, type ProxyKey, serviceIdentity, spiffeIdOf } from '../../../identity/index.js'
import type { KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, textKey, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { instanceOfProxy, objectInputs, servicesOfInstance, settingInputs } from '../../inputs/inputs.js'
import { isUsableAccount } from '../access/accounts.js'
import { clientRulesPart } from '../routing/client-rules.js'
import { egressSet, gatewayRules } from '../egress/egress-parts.js'
import { inboundPart } from '../access/inbound.js'
import { ingressOfInstance } from '../ingress/ingress-of-instance.js'
import { ingressPart } from '../ingress/ingress.js'
import { nameKey, networkKey, servicePortKey, sortedUnique, type NamespacedName } from '../parts/keys.js'
import { trustPart } from '../parts/mesh-parts.js'
import { dnsPart } from '../routing/names.js'
import { pluginParts } from './plugins.js'
import { framePart, type PartFrame } from '../parts/part-frame.js'
import { keepPart, samePart, type PolicyPart } from '../parts/policy-part.js'
import { localPort, probeBindings } from './probes.js'
import { objectRefOf } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { allServicesInScope, scopeOf, type Scope } from '../parts/reach.js'
import { serviceModel } from '../upstreams/services.js'
import { rootSet, upstreamReaders } from '../parts/sets.js'
import { targetPortOf } from '../upstreams/target-port.js'
import { transparentListenAddresses, type IpFamilies } from './sidecar-addresses.js'
import { meshPartOf } from './telemetry.js'

type Context = QueryContext<CatalogState>
type Instance = KindMap['WorkloadInstance']

/** An instance without what comes and goes while it runs and makes no difference to its own proxy. */
const instanceModel = defineQuery<CatalogState, NamespacedName, Instance | undefined>({
  name: 'instance-model',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, name) => {
    const instance = context.get(objectInputs.WorkloadInstance, name)
    return instance && { ...instance, spec: { ...instance.spec, ready: true } }
  },
})

/** The root of a proxy's policy; undefined if it belongs to no instance, or its account can have no certificate. */
export const proxyPart = defineQuery<CatalogState, ProxyKey, PolicyPart<ProxyPart> | undefined>({
  name: 'proxy-part',
  keyOf: textKey,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, proxy) => {
    const frame = context.get(proxyFrame, proxy)
    if (frame === undefined) return undefined
    const { account, network } = frame
    const called = context.get(calledByAccount, { account, ...(network !== undefined && { network }) })
    return { ...frame.complete(called), withEndpoints: (endpoints) => frame.complete({ ...called, endpoints }) }
  },
})

/** Workloads that may call the same: those of an account, in one network. */
interface Callers {
  readonly account: ServiceAccountRef
  /** Absent for that of the mesh. */
  readonly network?: string
}

/** What workloads may call, by the member of their proxy parts. */
type CalledParts = Readonly<Record<CalledMember, PolicyPart | undefined>>
type CalledMember = (typeof CALLED_MEMBERS)[number]
const CALLED_MEMBERS = ['outbound', 'upstreams', 'endpoints', 'egress', 'clientRules'] as const

/** What all replicas of a workload may call is looked up once for them: most of what changes in policies is in here. */
const calledByAccount = defineQuery<CatalogState, Callers, CalledParts>({
  name: 'called-by-account',
  keyOf: ({ account, network }) => `${nameKey(account)}${networkKey(network)}`,
  equal: (a, b) => CALLED_MEMBERS.every((member) => samePart(a[member], b[member])),
  whenEqual: (before, after) => {
    for (const member of CALLED_MEMBERS) keepPart(before[member], after[member])
    return before
  },
  compute: (context, { account, network }) => {
    const { namespace } = account
    const scope = context.get(scopeOf, account)
    const egress = context.get(egressSet, account)
    const hasGateways = context.get(gatewayRules, account).length > 0
    const hasEgressRoutes = { outbound: false, upstream: egress !== undefined || hasGateways, endpoints: hasGateways }
    const set = (of: 'outbound' | 'upstream' | 'endpoints') =>
      context.get(rootSet, {
        of,
        scope,
        readers: of === 'outbound' ? namespace : context.get(upstreamReaders, namespace),
        ...(hasEgressRoutes[of] && { egressOf: account }),
        ...(of === 'endpoints' && network !== undefined && { network }),
      })
    return {
      outbound: set('outbound'),
      upstreams: set('upstream'),
      endpoints: set('endpoints'),
      egress,
      clientRules: context.get(clientRulesPart, account),
    }
  },
})

/** A proxy part without what its workload may call. Its text says all of it: the account is in the identity. */
interface ProxyFrame extends Callers {
  readonly complete: PartFrame<ProxyPart, CalledMember>['complete']
  readonly text: string
}

/**
 * What changes rarely in a proxy part. Endpoints come and go all the time, and each of them concerns all proxies that may call it: they are to cost
 * those proxies nothing but a new reference and its hash.
 */
const proxyFrame = defineQuery<CatalogState, ProxyKey, ProxyFrame | undefined>({
  name: 'proxy-frame',
  keyOf: textKey,
  equal: (a, b) => a?.text === b?.text && a?.network === b?.network,
  compute: (context, proxy) => {
    const name = context.get(instanceOfProxy, proxy)
    const instance = name && context.get(instanceModel, name)
    return instance && isUsableAccount(context, accountOf(instance)) ? buildProxyFrame(context, instance) : undefined
  },
})

/** Account that an instance runs under. */
export function accountOf({ metadata, spec }: Instance): ServiceAccountRef {
  return { namespace: metadata.namespace, name: spec.serviceAccountName }
}

function buildProxyFrame(context: Context, instance: Instance): ProxyFrame {
  const { metadata, spec } = instance
  const account = accountOf(instance)
  const { trustDomain } = context.get(settingInputs.domains, '')
  const scope = context.get(scopeOf, account)
  const families = ipFamilies(spec.addresses)
  const trust = context.get(trustPart, spec.serviceCredential ?? 'mesh')
  const mesh = meshPartOf(context, instance)
  const inbound = inboundBindings(context, instance, account)
  const ingress = ingressBindings(context, instance)
  const dns = spec.mode === 'transparent' ? context.get(dnsPart, scope) : undefined
  const served = [...inbound, ...ingress].map(({ part }) => part)
  const plugins = pluginParts(context, instance)
  const { complete, text } = framePart<ProxyPart, CalledMember>(
    {
      kind: 'proxy',
      id: spec.uuid as ProxyUUID, // the schema of the kind demands the form
      identity: serviceIdentity(account),
      principal: principalOf(account, trustDomain),
      spiffeId: spiffeIdOf(account, trustDomain),
      class: spec.sidecarClass.toLowerCase(),
      mode: spec.mode,
      namespace: metadata.namespace,
      workload: { kind: 'Workload', name: spec.workload, instance: metadata.name },
      ...(spec.ended === true ? { workloadEnded: true } : {}),
      locality: localityOf(metadata.labels),
      cluster: context.get(settingInputs.cluster, ''),
      ipFamilies: families,
      addresses: sortedUnique(spec.addresses),
      listen: listenAddresses(instance, families, dns !== undefined),
      probes: probeBindings(instance, families),
      inbound: inbound.map(({ binding }) => binding),
      ingress: ingress.map(({ binding }) => binding),
      outboundBindings: outboundBindings(context, instance, scope),
      trust: trust.hash,
      mesh: mesh.hash,
      ...(dns === undefined ? {} : { dns: dns.hash }),
      extensions: plugins.map(({ hash }) => hash),
    },
    CALLED_MEMBERS,
    {
      children: [trust, mesh, ...served, dns, ...plugins].filter((part) => part !== undefined),
      origins: { '': [{ object: objectRefOf('WorkloadInstance', metadata) }] },
    },
  )
  const network = spec.network?.name
  return { account, ...(network !== undefined && { network }), complete, text }
}

function ipFamilies(addresses: readonly string[]): IpFamilies {
  const families = new Set(addresses.map((address) => (isIPv6(address) ? 'IPv6' : 'IPv4')))
  return [...families].sort()
}

function listenAddresses(
  { spec: { mode, allocations } }: Instance,
  families: IpFamilies,
  answersDns: boolean,
): ListenAddresses {
  if (mode === 'transparent') return transparentListenAddresses(families, answersDns)
  const { outboundHttp, metrics, admin } = allocations ?? {}
  return {
    ...(outboundHttp === undefined ? {} : { outboundHttp }),
    ...(metrics === undefined ? {} : { metrics }),
    ...(admin === undefined ? {} : { admin }),
  }
}

interface BoundPart<P extends InboundPart | IngressPart, B extends InboundBinding | IngressBinding> {
  readonly part: PolicyPart<P>
  readonly binding: B
}

type BoundInbound = BoundPart<InboundPart, InboundBinding>
type BoundIngress = BoundPart<IngressPart, IngressBinding>

/** Sorted by id. */
function inboundBindings(context: Context, instance: Instance, account: ServiceAccountRef): readonly BoundInbound[] {
  const { namespace, name } = instance.metadata
  const bindings = context
    .get(servicesOfInstance, { namespace, name })
    .flatMap((service) => bindingsOf(context, { instance, account, service }))
  return bindings.sort((a, b) => compareText(a.binding.id, b.binding.id))
}

interface ServedService {
  readonly instance: Instance
  readonly account: ServiceAccountRef
  readonly service: MeshService
}

function bindingsOf(context: Context, { instance, account, service }: ServedService): readonly BoundInbound[] {
  const served = new Set<number>()
  return (context.get(serviceModel, service)?.ports ?? []).flatMap((port): readonly BoundInbound[] => {
    const targetPort = targetPortOf(instance, port)
    // Ports come sorted: where several lead to one target port, the lowest stands for all.
    if (targetPort === undefined || served.has(targetPort)) return []
    served.add(targetPort)
    const part = context.get(inboundPart, { ...service, port: port.port, targetPort, account })
    const listen = instance.spec.allocations?.inbound[allocationKey(service, port.port)]
    // In explicit mode nothing is served before the supervisor has found an address for it.
    if (part === undefined || (instance.spec.mode === 'explicit' && listen === undefined)) return []
    const binding: InboundBinding = {
      part: part.hash,
      id: part.part.id,
      ...(instance.spec.mode === 'explicit' && listen !== undefined ? { listen } : {}),
      local: { address: localAddress(context, instance), port: localPort(instance, targetPort) },
    }
    return [{ part, binding }]
  })
}

/** Sorted by id. */
function ingressBindings(context: Context, instance: Instance): readonly BoundIngress[] {
  const { metadata, spec } = instance
  const { groups } = context.get(ingressOfInstance, { namespace: metadata.namespace, name: metadata.name })
  const bindings = groups.flatMap((group): readonly BoundIngress[] => {
    const part = context.get(ingressPart, group)
    const listen = spec.allocations?.ingress?.[allocationKey(group, group.targetPort)]
    if (part === undefined || (spec.mode === 'explicit' && listen === undefined)) return []
    const binding: IngressBinding = {
      part: part.hash,
      id: part.part.id,
      ...(spec.mode === 'explicit' && listen !== undefined ? { listen } : {}),
      local: { address: localAddress(context, instance), port: localPort(instance, group.targetPort) },
    }
    return [{ part, binding }]
  })
  return bindings.sort((a, b) => compareText(a.binding.id, b.binding.id))
}

/**
 * Where the application answers: on the loopback, or on the workload's own address for applications that bind nothing else. With interception the
 * kernel sends connections to the loopback on to the own address; those that the proxy makes to the own address return to the proxy.
 */
function localAddress(context: Context, { spec }: Instance): string {
  const [first] = spec.addresses
  const isOwn = spec.mode === 'explicit' && context.get(settingInputs.localProxyMode, '') === 'PodIP'
  const own = isOwn ? first : undefined
  return (
    own ?? (first !== undefined && isIPv6(first) && !spec.addresses.some((it) => !isIPv6(it)) ? '::1' : '127.0.0.1')
  )
}

/** Local addresses of TCP ports that the workload may call. What the supervisor has allocated beyond that stays closed. Sorted by id. */
function outboundBindings(context: Context, { spec }: Instance, scope: Scope): readonly OutboundBinding[] {
  const allocated = Object.entries(spec.mode === 'explicit' ? (spec.allocations?.outboundTcp ?? {}) : {})
  if (allocated.length === 0) return []
  const callable = new Set(
    context
      .get(allServicesInScope, scope)
      .flatMap((service) =>
        (context.get(serviceModel, service)?.ports ?? [])
          .filter(({ protocol }) => !isHttp(protocol))
          .map(({ port }) => servicePortKey({ ...service, port })),
      ),
  )
  return allocated
    .filter(([id]) => callable.has(id))
    .map(([id, listen]) => ({ id, listen }))
    .sort((a, b) => compareText(a.id, b.id))
}
