import type { OutsideCaller, Snapshot } from '@osm-ts/core'
import type { OsmError, ServiceAccountRef } from '@osm-ts/driver-api'

import { cliError } from '../errors.js'
import type { CalledHost, CalledService, Callee, Caller, NamedThing } from '../policy-question.js'
import type { Boundary, BoundaryAnswer } from './boundary.js'
import type { AnswerStyle } from './render-answer.js'
import type { MeshModel } from './load-mesh-model.js'

/** A request that is asked about. */
interface AskedRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

/** The same inside the mesh. */
interface AskedInside extends AskedRequest {
  /** Server name of a TLS connection, for ports with TLSRoutes. */
  readonly serverName: string | undefined
}

/** What `osm policy can` is asked. */
export interface PolicyQuestion {
  readonly from: Caller
  readonly to: Callee
  readonly request: AskedRequest
  /** Names in the certificate of a caller outside the mesh. */
  readonly principals?: readonly string[] | undefined
  /** Server name that the caller requests over TLS. */
  readonly serverName?: string | undefined
}

/** What `osm policy can` answers. */
export interface PolicyAnswer {
  readonly json: unknown
  readonly allowed: boolean
  readonly lines: (style: AnswerStyle) => readonly string[]
}

/** The answer to a question about policy; else what is wrong with the question. */
export async function askPolicy(
  loaded: MeshModel,
  { from, to, request, principals: principal = [], serverName: sni }: PolicyQuestion,
): Promise<PolicyAnswer | string> {
  if (from.kind === 'workload') {
    if (principal.length > 0) return '--principal is for callers outside the mesh'
    return to.kind === 'service'
      ? askInside(loaded, from, to, { ...request, serverName: sni })
      : askHost(loaded, from, to, { ...request, serverName: sni })
  }
  if (to.kind === 'outside')
    return 'for callers outside the mesh, the destination must be a service: <namespace>/<service>'
  if (from.kind === 'service' && loaded.snapshot.get('Service', from.namespace, from.name) === undefined)
    throw notFound(loaded.snapshot, 'Service', from, { wanted: 'Service', known: 'Services' })
  const caller: OutsideCaller = {
    ...(from.kind === 'address' && { address: from.address }),
    ...(from.kind === 'service' && { service: { namespace: from.namespace, name: from.name } }),
    principals: [...(from.kind === 'principal' ? [from.name] : []), ...principal],
    ...(sni !== undefined && { serverName: sni }),
  }
  return showBoundary((await boundaryOf(loaded)).askOutside(caller, to, request))
}

async function askInside(
  loaded: MeshModel,
  from: NamedThing,
  { namespace, name, port }: CalledService,
  { serverName, ...request }: AskedInside,
): Promise<PolicyAnswer> {
  const service = { namespace, name }
  const object = loaded.snapshot.get('Service', namespace, name)
  if (object !== undefined && !loaded.catalog.decisions.serves(service))
    return showBoundary(
      (await boundaryOf(loaded)).askOutsideService(accountOf(loaded.snapshot, from), object, port, request),
    )
  const { renderDecision } = await import('./render-decision.js')
  const decision = loaded.catalogRunning().decisions.access({
    from: accountOf(loaded.snapshot, from),
    to: { namespace, name },
    ...request,
    ...(port !== undefined && { port }),
    ...(serverName !== undefined && { serverName }),
  })
  return { json: decision, allowed: decision.allowed, lines: (style) => renderDecision(decision, loaded, style) }
}

/** A host is outside the mesh if it is not the name of a service. */
async function askHost(
  loaded: MeshModel,
  from: NamedThing,
  to: CalledHost,
  asked: AskedInside,
): Promise<PolicyAnswer | string> {
  const boundary = await boundaryOf(loaded)
  const service = boundary.serviceNamed(to.host, from.namespace)
  if (service !== undefined)
    return askInside(loaded, from, { ...service, ...(to.port !== undefined && { port: to.port }) }, asked)
  const { serverName, ...request } = asked
  if (serverName !== undefined) return '--sni is not for destinations outside the mesh: name the host'
  return showBoundary(boundary.askEgress(accountOf(loaded.snapshot, from), to, request))
}

async function boundaryOf(loaded: MeshModel): Promise<Boundary> {
  const { Boundary } = await import('./boundary.js')
  return new Boundary(loaded)
}

async function showBoundary(answer: BoundaryAnswer): Promise<PolicyAnswer> {
  const { renderBoundary } = await import('./render-boundary.js')
  return { json: answer, allowed: answer.allowed, lines: (style) => renderBoundary(answer, style) }
}

/** The service account that a name stands for: its own, or that of the workload of this name. */
function accountOf(snapshot: Snapshot, named: NamedThing): ServiceAccountRef {
  const { namespace, name } = named
  if (snapshot.get('ServiceAccount', namespace, name) !== undefined) return { namespace, name }
  const workload = snapshot.get('Workload', namespace, name)
  if (workload !== undefined) return { namespace, name: workload.spec.serviceAccountName }
  throw notFound(snapshot, 'ServiceAccount', named, {
    wanted: 'service account and no workload',
    known: 'service accounts',
  })
}

/** The error about a name that stands for nothing, with the names that stand for something. */
function notFound(
  snapshot: Snapshot,
  kind: 'Service' | 'ServiceAccount',
  { namespace, name }: NamedThing,
  words: { readonly wanted: string; readonly known: string },
): OsmError {
  const known = snapshot.list(kind).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  return cliError(
    'OSM_CLI_NOT_FOUND',
    `there is no ${words.wanted} ${namespace}/${name}`,
    known.length === 0 ? `the folder has no ${words.known}` : `${words.known} are ${known.join(', ')}`,
  )
}
