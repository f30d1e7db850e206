/** Policies that tests have in common. */

/** An account of a namespace. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

/** Everything that HTTP can ask for, as a route group of that name. */
export function anyHttp(namespace: string, name = 'any-http'): object {
  return {
    apiVersion: 'specs.smi-spec.io/v1alpha4',
    kind: 'HTTPRouteGroup',
    metadata: { namespace, name },
    spec: { matches: [{ name: 'all', pathRegex: '.*', methods: ['*'] }] },
  }
}

/** A TCPRoute over these ports. */
export function tcpRoute(namespace: string, ports: readonly number[], name = 'tcp'): object {
  return {
    apiVersion: 'specs.smi-spec.io/v1alpha4',
    kind: 'TCPRoute',
    metadata: { namespace, name },
    spec: { matches: { ports } },
  }
}

/** Lets accounts call an account: by the route group `any-http`, or by another route. */
export function trafficTarget({
  destination,
  sources,
  rules = [{ kind: 'HTTPRouteGroup', name: 'any-http', matches: ['all'] }],
  name = destination.name,
  namespace = destination.namespace,
}: {
  readonly destination: Account
  readonly sources: readonly Account[]
  readonly rules?: readonly object[]
  readonly name?: string
  readonly namespace?: string
}): object {
  const reference = (account: Account): object => ({ kind: 'ServiceAccount', ...account })
  return {
    apiVersion: 'access.smi-spec.io/v1alpha3',
    kind: 'TrafficTarget',
    metadata: { namespace, name },
    spec: { destination: reference(destination), sources: sources.map(reference), rules },
  }
}
