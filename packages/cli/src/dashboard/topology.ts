import { type Snapshot, type TrafficSplitSpec } from '@osm-ts/core'
import type { ShownProxy, Topology, TopologyEdge, TopologyNode } from '@osm-ts/dashboard'

import { egressRoutes } from '../diff/call-routes.js'
import { meshFacts } from '../diff/mesh-facts.js'
import { formatPercent } from '../output/format.js'
import type { MeshModel } from '../spec/load-mesh-model.js'

type DrawnNode = Omit<TopologyNode, 'proxies' | 'classes'> & {
  readonly proxies: Set<string>
  readonly classes: Set<string>
}
type DrawnEdge = Omit<TopologyEdge, 'rules' | 'isMutualTls'> & {
  readonly rules: Map<string, TopologyEdge['rules'][number]>
  isMutualTls?: true
}

/**
 * Draws who may call whom.
 *
 * @param model - in which every workload runs
 * @param proxies - those of the running mesh: services are served by what stands behind them now
 */
export function topologyOf(
  model: Pick<MeshModel, 'snapshot' | 'catalog'>,
  proxies: readonly Pick<ShownProxy, 'name' | 'identity' | 'class' | 'services'>[],
): Topology {
  const picture = new Picture()
  const accounts = new Map<string, string>()
  for (const { metadata, spec } of model.snapshot.list('WorkloadInstance')) {
    accounts.set(`${metadata.namespace}/${metadata.name}`, `${metadata.namespace}/${spec.serviceAccountName}`)
    picture.node('workload', `${metadata.namespace}/${spec.serviceAccountName}`)
  }
  for (const { name, identity, class: sidecarClass, services } of proxies) {
    const workload = picture.node('workload', accountOfIdentity(identity) ?? accounts.get(name) ?? name)
    workload.proxies.add(name)
    workload.classes.add(sidecarClass)
    for (const service of services) picture.edge(workload, picture.node('service', service), 'serves')
  }
  const { access, calls, allowedBy } = meshFacts(model)
  for (const fact of access.values()) {
    const { caller, destination, protocol, request } = fact
    const { service, port } = destinationOf(destination)
    const text = [port, protocol, request].filter((word) => word !== '').join(' ')
    // These rules are those of inbound parts, which know callers by their certificates.
    const arrow = picture.edge(callerOf(picture, caller), picture.node('service', service), 'access')
    arrow.isMutualTls = true
    arrow.rules.set(text, { request: text, allowedBy: allowedBy(fact) })
  }
  for (const [caller, sets] of calls)
    for (const { destination, request } of egressRoutes(sets))
      picture
        .edge(picture.node('workload', caller), picture.node('outside', destination), 'access')
        .rules.set(request, { request, allowedBy: [] })
  addSplits(picture, model.snapshot)
  return picture.finish()
}

/** Backends of splits and their shares, of the apexes that the picture has or a backend of which it has. */
function addSplits(picture: Picture, snapshot: Snapshot): void {
  for (const { metadata, spec } of snapshot.list('TrafficSplit')) {
    const { namespace, name } = metadata
    const apex = picture.node('service', `${namespace}/${nameOfService(spec.service)}`)
    const sum = spec.backends.reduce((total, { weight }) => total + weight, 0)
    for (const { service, weight } of spec.backends) {
      const backend = picture.node('service', `${namespace}/${nameOfService(service)}`)
      // A split may have its apex among its backends.
      if (backend === apex) continue
      const request = sum === 0 ? 'no traffic' : formatPercent(weight / sum)
      const allowedBy = [`TrafficSplit ${namespace}/${name}`]
      picture.edge(apex, backend, 'split').rules.set(request, { request, allowedBy })
    }
  }
}

class Picture {
  readonly #nodes = new Map<string, DrawnNode>()
  readonly #edges = new Map<string, DrawnEdge>()

  /** @param fullName - `<namespace>/<name>`, or what names somebody outside */
  node(kind: TopologyNode['kind'], fullName: string): DrawnNode {
    const id = `${kind} ${fullName}`
    const slash = kind === 'outside' ? -1 : fullName.indexOf('/')
    const made = this.#nodes.get(id) ?? {
      id,
      kind,
      namespace: slash < 0 ? '' : fullName.slice(0, slash),
      name: fullName.slice(slash + 1),
      proxies: new Set<string>(),
      classes: new Set<string>(),
    }
    this.#nodes.set(id, made)
    return made
  }

  edge(from: DrawnNode, to: DrawnNode, kind: TopologyEdge['kind']): DrawnEdge {
    // Services stand between the workloads that call them and those that serve them.
    const [start, end] = kind === 'serves' ? [to, from] : [from, to]
    const key = `${start.id}\0${end.id}\0${kind}`
    const made: DrawnEdge = this.#edges.get(key) ?? { from: start.id, to: end.id, kind, rules: new Map() }
    this.#edges.set(key, made)
    return made
  }

  finish(): Topology {
    const sorted = <T>(all: ReadonlyMap<string, T>): T[] =>
      [...all].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value)
    return {
      nodes: sorted(this.#nodes).map((node) => ({
        ...node,
        proxies: [...node.proxies].sort(),
        classes: [...node.classes].sort(),
      })),
      edges: sorted(this.#edges).map((edge) => ({ ...edge, rules: [...edge.rules.values()] })),
    }
  }
}

/** A caller of the mesh is `<namespace>/<account>`; others are words or names of certificates. */
function callerOf(picture: Picture, caller: string): DrawnNode {
  return picture.node(/^[^/\s]+\/[^/\s]+$/.test(caller) ? 'workload' : 'outside', caller)
}

function destinationOf(destination: string): { readonly service: string; readonly port: string } {
  const colon = destination.lastIndexOf(':')
  return { service: destination.slice(0, colon), port: destination.slice(colon + 1) }
}

/** An identity is `<account>.<namespace>`; namespaces have no dots. */
export function accountOfIdentity(identity: string): string | undefined {
  const dot = identity.lastIndexOf('.')
  return dot < 1 ? undefined : `${identity.slice(dot + 1)}/${identity.slice(0, dot)}`
}

/** The apex of a split may be written as a host name. */
function nameOfService(name: TrafficSplitSpec['service']): string {
  return name.split('.')[0] ?? name
}
