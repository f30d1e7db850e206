import { programs } from './mesh.js'
import { account, meshConfig, routeGroup, service, trafficSplit, trafficTarget, workload } from './yaml.js'

/** The workloads of most HTTP scenarios: `client` and `thief` call `store`, which two versions back; `lonely` has no policy at all. */
export const shopWorkloads: readonly string[] = [
  ...(['client', 'thief'] as const).flatMap((name) => [
    account(`shop/${name}`),
    workload(`shop/${name}`, { program: programs.idle }),
  ]),
  ...(['store-v1', 'store-v2', 'store-v3', 'lonely'] as const).flatMap((name) => [
    account(`shop/${name}`),
    workload(`shop/${name}`, {
      program: programs.http,
      port: 8080,
      app: name,
      ...(name.startsWith('store') ? { labels: { tier: 'store' } } : {}),
    }),
    service(`shop/${name}`, name, 8080),
  ]),
  // The apex selects all versions, as OSM asks since 1.2.
  service('shop/store', { tier: 'store' }, 8080, { protocol: 'http' }),
]

/** Rules of the store: reading for everybody in `readers`, buying for the client alone. */
export function shopPolicy(readers: readonly ('client' | 'thief')[] = ['client', 'thief']): readonly string[] {
  const versions = ['store-v1', 'store-v2', 'store-v3'] as const
  return [
    routeGroup('shop/store', [
      { name: 'read', pathRegex: '/books/.*', methods: ['GET'] },
      { name: 'buy', pathRegex: '/buy', methods: ['POST'] },
      { name: 'stream', pathRegex: '/stream', methods: ['GET'] },
    ]),
    ...versions.flatMap((version) => [
      trafficTarget(`shop/${version}-read`, {
        to: `shop/${version}`,
        from: readers.map((reader) => `shop/${reader}` as const),
        rules: [{ kind: 'HTTPRouteGroup', name: 'store', matches: ['read'] }],
      }),
      trafficTarget(`shop/${version}-buy`, {
        to: `shop/${version}`,
        from: ['shop/client'],
        rules: [{ kind: 'HTTPRouteGroup', name: 'store', matches: ['buy', 'stream'] }],
      }),
    ]),
  ]
}

/** Weights of the store's versions. */
export function shopSplit(weights: Readonly<Record<string, number>>): readonly string[] {
  return [trafficSplit('shop/store', 'store', weights)]
}

/** The files of the shop. */
export function shop(config: Readonly<Record<string, unknown>> = {}): Record<string, readonly string[]> {
  return {
    'config.yaml': [
      meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false }, ...config }),
    ],
    'workloads.yaml': shopWorkloads,
    'policy.yaml': shopPolicy(),
    'split.yaml': shopSplit({ 'store-v1': 75, 'store-v2': 25, 'store-v3': 0 }),
  }
}
