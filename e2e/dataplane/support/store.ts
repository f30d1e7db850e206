import { programs } from './mesh.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './yaml.js'

/** A client, and a store that answers it over HTTP. */
export const clientAndStore: readonly string[] = [
  account('shop/client'),
  workload('shop/client', { program: programs.idle }),
  account('shop/store'),
  workload('shop/store', { program: programs.http, port: 8080 }),
  service('shop/store', 'store', 8080),
]

/** A mesh of SMI access policy whose client may call its store over HTTP. */
export const clientMayCallStore: readonly string[] = [
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
  account('shop/client'),
  account('shop/store'),
  routeGroup('shop/any', [{ name: 'any', pathRegex: '.*', methods: ['*'] }]),
  trafficTarget('shop/store', {
    to: 'shop/store',
    from: ['shop/client'],
    rules: [{ kind: 'HTTPRouteGroup', name: 'any' }],
  }),
]

/** A server that sends back what it gets over TCP. */
export const echo: readonly string[] = [
  account('shop/echo'),
  workload('shop/echo', { program: programs.tcp, port: 9000 }),
  service('shop/echo', 'echo', 9000, { protocol: 'tcp' }),
]
