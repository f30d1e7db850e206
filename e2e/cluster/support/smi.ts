import { type Manifest, manifests, type Place } from '@osm-ts/core/testing'

/** Everything that HTTP can ask for, as a route group of that name. */
export function anyHttp(namespace: string, name = 'any-http'): Manifest {
  return manifests.routeGroup({ namespace, name }, [{ name: 'all', pathRegex: '.*', methods: ['*'] }])
}

/** A TCPRoute over these ports. */
export function tcpRoute(namespace: string, ports: readonly number[], name = 'tcp'): Manifest {
  return manifests.manifest('specs.smi-spec.io/v1alpha4', 'TCPRoute', { namespace, name }, { matches: { ports } })
}

/** Lets accounts call an account: by the route group `any-http`, or by another route. */
export function trafficTarget({
  destination,
  sources,
  rules = [{ kind: 'HTTPRouteGroup', name: 'any-http', matches: ['all'] }],
  name = destination.name,
  namespace = destination.namespace,
}: {
  readonly destination: Place
  readonly sources: readonly Place[]
  readonly rules?: readonly object[]
  readonly name?: string
  readonly namespace?: string
}): Manifest {
  const target = manifests.trafficTarget({ namespace, name }, sources, { destination })
  return { ...target, spec: { ...target.spec, rules } }
}
