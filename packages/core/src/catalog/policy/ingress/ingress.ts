import type { MeshService } from '@osm-ts/driver-api'
import type { IngressPart, Protocol } from '@osm-ts/driver-api/policy'

import { formatObjectRef } from '../../../problem.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { EVERY_ADDRESS } from '../../../spec/ip-range.js'
import { indexInputs, settingInputs } from '../../inputs/inputs.js'
import { accessAnalysis, accessKinds, type AccessBackend, type AccessKind, type AccessRef } from './access-objects.js'
import { mergeIngressAccess, type IngressAccessGroup } from './ingress-access.js'
import { nameKey, servicePortKey, targetPortKey, type ServicePortRef, type TargetPortRef } from '../parts/keys.js'
import { allowsPlaintext } from '../access/plaintext.js'
import { keepPart, makePart, samePart, type Origins, type PolicyPart } from '../parts/policy-part.js'
import { principalList, principalsKey } from '../access/principals.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { isHttp } from '../upstreams/protocol.js'
import { servedLimits, type ServedLimits } from '../upstreams/upstream-settings.js'
import { serviceModel, type MeshServicePort } from '../upstreams/services.js'

type Context = QueryContext<CatalogState>

/** A service port by both of its numbers. */
export interface OpenedPortRef extends ServicePortRef, TargetPortRef {}

/** Callers from outside whom objects let in to one port of a service. */
export interface OpenedPort {
  readonly groups: readonly IngressAccessGroup[]
  readonly problems: readonly PolicyProblem[]
}

/** One of the groups of a port. */
export interface AccessGroupRef extends OpenedPortRef {
  /** Its place among the groups of the port. */
  readonly group: number
}

/** Who is let in to a service port. An object names services of its own namespace, so no one opens the services of another. */
export const openedPort = defineQuery<CatalogState, OpenedPortRef, OpenedPort>({
  name: 'opened-port',
  keyOf: openedPortKey,
  equal: deepEqual,
  compute: (context, key) => {
    const { groups, contradictions } = mergeIngressAccess(
      accessKinds.flatMap((kind) => ownerOf(context, kind, key) ?? []),
    )
    const problems = contradictions.flatMap(({ loser, owner }) => contradicted(loser, owner.object))
    // Anyone who may come in plaintext may ask anything: no one's ranges or matches narrow that.
    if (context.get(allowsPlaintext, key.namespace))
      return { groups: [...groups.filter(({ tls }) => tls !== 'none'), anyoneInTheClear], problems }
    return { groups, problems }
  },
})

/** Callers without a sidecar, from everywhere. */
const anyoneInTheClear: IngressAccessGroup = {
  tls: 'none',
  protocol: 'http',
  serverNames: [],
  sources: EVERY_ADDRESS,
  principals: [],
  matches: [{}],
  backends: [],
}

/** The `ingress` part of a group; undefined if the port has no such group. */
export const ingressPart = defineQuery<CatalogState, AccessGroupRef, PolicyPart<IngressPart> | undefined>({
  name: 'ingress-part',
  keyOf: (ref) => `${openedPortKey(ref)}#${ref.group}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const group = context.get(openedPort, openedPortOf(key)).groups[key.group]
    const port = group && portOf(context, key)
    return port && buildPart(context, key, port, group)
  },
})

/** What is wrong with an IngressBackend or AccessControl. */
export const accessProblems = defineQuery<CatalogState, AccessRef, readonly PolicyProblem[]>({
  name: 'access-problems',
  keyOf: (ref) => `${ref.kind} ${nameKey(ref)}`,
  equal: deepEqual,
  compute: (context, ref) => {
    const { backends = [], problems = [] } = context.get(accessAnalysis, ref) ?? {}
    const lost = backends.flatMap((backend) => {
      const owner = ownerOf(context, ref.kind, { ...backend, namespace: ref.namespace, name: backend.service })
      if (owner === undefined || owner.object.name === ref.name) return []
      const place = `${backend.service} port ${backend.targetPort}`
      const list = new ProblemList(backend.object)
      const message = `${place} is already a backend of ${formatObjectRef(owner.object)}, which takes precedence`
      list.error('OSM_SPEC_CONFLICT', backend.field, message)
      return list.items
    })
    return [...problems, ...lost]
  },
})

/** A backend whose callers some other object treats otherwise. */
export function contradicted(loser: AccessBackend, owner: AccessBackend['object']): readonly PolicyProblem[] {
  const problems = new ProblemList(loser.object)
  const message = `${loser.service} port ${loser.targetPort} is open to the same callers with other settings by ${formatObjectRef(owner)}, which takes precedence for them`
  problems.error('OSM_POLICY_INGRESS_CONFLICT', loser.field, message)
  return problems.items
}

/** The first object by name that has the port among its backends: it holds, whatever it says. */
function ownerOf(
  context: Context,
  kind: AccessKind,
  { namespace, name, targetPort }: TargetPortRef,
): AccessBackend | undefined {
  const index = kind === 'IngressBackend' ? indexInputs.ingressByService : indexInputs.accessByService
  for (const ref of context.get(index, nameKey({ namespace, name }))) {
    const backends = context.get(accessAnalysis, { kind, ...ref })?.backends ?? []
    const backend = backends.find((each) => each.service === name && each.targetPort === targetPort)
    if (backend !== undefined) return backend
  }
  return undefined
}

function openedPortKey(key: OpenedPortRef): string {
  return `${servicePortKey(key)}|${key.targetPort}`
}

function openedPortOf({ namespace, name, port, targetPort }: OpenedPortRef): OpenedPortRef {
  return { namespace, name, port, targetPort }
}

function portOf(context: Context, { namespace, name, port }: ServicePortRef): MeshServicePort | undefined {
  return context.get(serviceModel, { namespace, name })?.ports.find((candidate) => candidate.port === port)
}

function buildPart(
  context: Context,
  key: AccessGroupRef,
  { protocol: served, field }: MeshServicePort,
  group: IngressAccessGroup,
): PolicyPart<IngressPart> {
  const { tls, serverNames, sources, principals, matches, protocol: spoken, backends } = group
  const service: MeshService = { namespace: key.namespace, name: key.name }
  // Objects let in requests. Where callers without a sidecar are let in, the port speaks what it speaks.
  const isObjects = backends.length > 0
  const protocol = isObjects ? protocolOf(served, spoken) : served
  const allow = tls === 'mtls' ? context.get(principalList, principalsKey(principals)) : undefined
  const limits = servedLimits(context, service, protocol)
  const externalAuthorization = isHttp(protocol) ? context.get(settingInputs.externalAuthorization, '') : undefined
  // The cluster of the application goes by the id, and is shared with callers of the mesh where that is possible.
  const discriminators = [...(protocol === served ? [] : [protocol]), ...(key.group === 0 ? [] : [String(key.group)])]
  return makePart<IngressPart>(
    {
      kind: 'ingress',
      id: [targetPortKey(key), ...discriminators].join('|'),
      service,
      port: key.port,
      targetPort: key.targetPort,
      protocol,
      sources,
      tls,
      serverNames,
      ...(allow === undefined ? {} : { allow: allow.hash }),
      matches,
      routeLimits: limits.routeLimits,
      ...limits.members,
      ...(externalAuthorization === undefined ? {} : { externalAuthorization }),
    },
    {
      children: allow === undefined ? [] : [allow],
      origins: {
        '': isObjects
          ? backends.flatMap(({ opening }) => opening?.origins ?? [])
          : [{ object: objectRefOf('Service', service), field }],
        ...limitOrigins(limits),
      },
    },
  )
}

/** Route limits are at the top of the part, not among the rules, as those of callers of the mesh do. */
function limitOrigins({ origins }: ServedLimits): Origins {
  return Object.fromEntries(
    Object.entries(origins).map(([pointer, sources]) => [pointer.replace(/^\/rules\//, '/'), sources]),
  )
}

/** What the application speaks. The Service knows best whether it wants HTTP/2; the object, that gRPC does. */
function protocolOf(served: Protocol, spoken: IngressAccessGroup['protocol']): Protocol {
  if (spoken === 'grpc') return served === 'http2' ? 'http2' : 'grpc'
  return isHttp(served) ? served : 'http'
}
