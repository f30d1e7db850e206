import { isMonitored, makeObjectKey, type ObjectOrigin, type ObjectRef } from '@osm-ts/core'
import type { ServiceAccountRef } from '@osm-ts/driver-api'
import type { HttpRequest, OutsideCaller, Rule } from '@osm-ts/oracle'

import type { Callee, NamedThing } from '../policy-question.js'
import type { UnderstoodMesh } from './understand-mesh.js'

/** A place that decides, and where it is written down. */
interface PlacedRule {
  readonly object: ObjectRef
  readonly field: string
  readonly origin?: ObjectOrigin
}

/** One way in which a destination can be reached, and what becomes of it. */
export interface WayAnswer {
  /** In words. */
  readonly way: string
  readonly allowed: boolean
  readonly reasons: readonly string[]
  /** What allows it. */
  readonly rules: readonly PlacedRule[]
}

/** The answer about traffic that leaves the mesh, or comes from outside. */
export interface BoundaryAnswer {
  readonly allowed: boolean
  /** In one sentence. */
  readonly reason: string
  /** Ways that were looked at; the last one is the one that is allowed, if any is. */
  readonly ways: readonly WayAnswer[]
}

type Loaded = Pick<UnderstoodMesh, 'oracle' | 'snapshot' | 'locate'>
type Outside = Extract<Callee, { readonly kind: 'outside' }>
type Protocol = NonNullable<Outside['protocol']>

const HTTP_PORT = 80
const HTTPS_PORT = 443

/** May this workload reach that destination outside the mesh? Where nobody said how, it is asked by what the port is for, then as any connection. */
export function askEgress(
  loaded: Loaded,
  from: ServiceAccountRef,
  { protocol: said, host, port: written }: Outside,
  request: HttpRequest,
): BoundaryAnswer {
  if (!isMonitored(loaded.snapshot, from.namespace, { mode: 'all' }))
    return answered([], `namespace ${from.namespace} of the caller does not take part in the mesh`)
  const port = written ?? (said === 'https' ? HTTPS_PORT : HTTP_PORT)
  const protocols: readonly Protocol[] = said === undefined ? [port === HTTPS_PORT ? 'https' : 'http', 'tcp'] : [said]
  const ways: WayAnswer[] = []
  for (const protocol of protocols) {
    const { outcome, reason, by } = loaded.oracle.decideEgress({ from, host, port, protocol, request })
    const allowed = outcome === 'allow'
    ways.push({ way: `${protocol} to ${host} port ${port}`, allowed, reasons: [reason], rules: placed(loaded, by) })
    if (allowed) break
  }
  return answered(ways)
}

/** May this caller from outside reach that service of the mesh? */
export function askOutside(
  loaded: Loaded,
  caller: OutsideCaller,
  to: NamedThing & { readonly port?: number },
  request: HttpRequest,
): BoundaryAnswer {
  const named = `${to.namespace}/${to.name}`
  const ports = loaded.snapshot.get('Service', to.namespace, to.name)?.spec.ports ?? []
  const lowest = ports.map(({ port }) => port).sort((a, b) => a - b)[0]
  const port = to.port ?? lowest
  if (port === undefined) return answered([], `there is no Service ${named} with a port in the mesh`)
  const { outcome, reasons, by } = loaded.oracle.decideOutside({ caller, to, port, request })
  const allowed = outcome === 'allow'
  const some = outcome === 'depends' ? ['it depends on the workload that it ends up at'] : []
  const way = `${named} port ${port}, from outside the mesh`
  return answered([{ way, allowed, reasons: [...some, ...reasons], rules: placed(loaded, by) }])
}

function answered(ways: readonly WayAnswer[], reason?: string): BoundaryAnswer {
  const decisive = ways.find(({ allowed }) => allowed) ?? ways[0]
  return { allowed: decisive?.allowed ?? false, reason: reason ?? decisive?.reasons.join('; ') ?? '', ways }
}

function placed({ locate }: Loaded, rules: readonly Rule[]): readonly PlacedRule[] {
  return rules.map(({ kind, namespace, name, field }) => {
    const origin = locate(makeObjectKey(kind, namespace, name), field)
    return { object: { kind, namespace, name }, field, ...(origin !== undefined && { origin }) }
  })
}
