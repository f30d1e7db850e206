import type { IngressPart, MeshService } from '@osm-ts/driver-api'

import { formatObjectRef } from '../../problem.js'
import { deepEqual, defineQuery, type QueryContext } from '../incremental/index.js'
import type { CatalogState } from '../inputs/catalog-state.js'
import { indexInputs, settingInputs } from '../inputs/inputs.js'
import { accessAnalysis, accessKinds, type AccessBackend, type AccessKind, type AccessRef } from './access-objects.js'
import { doorsOf, type Door } from './doors.js'
import { nameKey, servicePortKey, targetPortKey, type ServicePortRef, type TargetPortRef } from './keys.js'
import { keepPart, makePart, samePart, type Origins, type PolicyPart } from './policy-part.js'
import { principalList, principalsKey } from './principals.js'
import { ProblemList, type PolicyProblem } from './problems.js'
import { isHttp } from './protocol.js'
import { servedLimits, type ServedLimits } from './upstream-settings.js'
import { serviceModel, type MeshServicePort } from './services.js'

type Context = QueryContext<CatalogState>

/** A service port by both of its numbers. */
export interface OpenedPortRef extends ServicePortRef, TargetPortRef {}

/** Callers from outside whom objects let in to one port of a service. */
export interface OpenedPort {
  readonly doors: readonly Door[]
  readonly problems: readonly PolicyProblem[]
}

/** One of the doors of a port. */
export interface DoorRef extends OpenedPortRef {
  /** Its place among the doors of the port. */
  readonly door: number
}

/** Who is let in to a service port. An object names services of its own namespace, so nobody opens the services of another. */
export const openedPort = defineQuery<CatalogState, OpenedPortRef, OpenedPort>({
  name: 'opened-port',
  keyOf: openedPortKey,
  equal: deepEqual,
  compute: (context, key) => {
    const { doors, contradictions } = doorsOf(accessKinds.flatMap((kind) => ownerOf(context, kind, key) ?? []))
    return { doors, problems: contradictions.flatMap(({ loser, owner }) => contradicted(loser, owner.object)) }
  },
})

/** The `ingress` part of a door; undefined if the port has no such door. */
export const ingressPart = defineQuery<CatalogState, DoorRef, PolicyPart<IngressPart> | undefined>({
  name: 'ingress-part',
  keyOf: (ref) => `${openedPortKey(ref)}#${ref.door}`,
  equal: samePart,
  whenEqual: keepPart,
  compute: (context, key) => {
    const door = context.get(openedPort, openedPortOf(key)).doors[key.door]
    const port = door && portOf(context, key)
    return port && buildPart(context, key, port, door)
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
      const message = `${place} is a backend of ${formatObjectRef(owner.object)} already, which holds`
      list.error('OSM_SPEC_CONFLICT', backend.field, message)
      return list.items
    })
    return [...problems, ...lost]
  },
})

/** A backend whose callers some other object treats otherwise. */
export function contradicted(loser: AccessBackend, owner: AccessBackend['object']): readonly PolicyProblem[] {
  const problems = new ProblemList(loser.object)
  const message = `${loser.service} port ${loser.targetPort} is open to the same callers on other terms by ${formatObjectRef(owner)}, which holds for them`
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
  key: DoorRef,
  { protocol: served }: MeshServicePort,
  { tls, serverNames, sources, principals, matches, protocol: spoken, backends }: Door,
): PolicyPart<IngressPart> {
  const service: MeshService = { namespace: key.namespace, name: key.name }
  const protocol = protocolOf(served, spoken)
  const allow = tls === 'mtls' ? context.get(principalList, principalsKey(principals)) : undefined
  const limits = servedLimits(context, service, protocol)
  const externalAuthorization = context.get(settingInputs.externalAuthorization, '')
  // The cluster of the application goes by the id, and is shared with callers of the mesh where that is possible.
  const discriminators = [...(protocol === served ? [] : [protocol]), ...(key.door === 0 ? [] : [String(key.door)])]
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
      origins: { '': backends.flatMap(({ opening }) => opening?.origins ?? []), ...limitOrigins(limits) },
    },
  )
}

/** Route limits stand at the top of the part, not among the rules, as those of callers of the mesh do. */
function limitOrigins({ origins }: ServedLimits): Origins {
  return Object.fromEntries(
    Object.entries(origins).map(([pointer, sources]) => [pointer.replace(/^\/rules\//, '/'), sources]),
  )
}

/** What the application speaks. The Service knows best whether it wants HTTP/2; the object, that gRPC does. */
function protocolOf(served: MeshServicePort['protocol'], spoken: Door['protocol']): IngressPart['protocol'] {
  if (spoken === 'grpc') return served === 'http2' ? 'http2' : 'grpc'
  return isHttp(served) ? served : 'http'
}
