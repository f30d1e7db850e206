import type { OptionalFeature } from '@osm-ts/driver-api'

import type { Manifest } from './kubectl.js'

/** An object that requests a feature. */
export interface Asking {
  readonly feature: OptionalFeature
  readonly object: Manifest
}

/** Settings of the MeshConfig that request features, as its spec. */
export const askingSettings: readonly { readonly feature: OptionalFeature; readonly spec: object }[] = [
  { feature: 'dns-proxy', spec: { sidecar: { localDNSProxy: { enable: true } } } },
  { feature: 'remote-logging', spec: { observability: { remoteLogging: { enable: true } } } },
  { feature: 'escaped-slashes', spec: { traffic: { escapedSlashes: 'Keep' } } },
]

const policies = 'policy.openservicemesh.io/v1alpha1'

/** Objects of a namespace that request features which not every class has. */
export function askingObjects(namespace: string): readonly Asking[] {
  const account = (name: string): object => ({ kind: 'ServiceAccount', name, namespace })
  const own = (kind: string, spec: object): Manifest => ({
    apiVersion: policies,
    kind,
    metadata: { name: 'asks', namespace },
    spec,
  })
  const asks = (feature: OptionalFeature, object: Manifest): Asking => ({ feature, object })
  const limits = (rateLimit: object): Manifest =>
    own('UpstreamTrafficSetting', { host: `echo.${namespace}.svc.cluster.local`, rateLimit })
  const http = { requests: 1_000, unit: 'second' }
  const tcp = { connections: 1_000, unit: 'second' }
  const retryPolicy = { retryOn: '5xx', numRetries: 1, perTryTimeout: '1s', retryBackoffBaseInterval: '1s' }
  const backends = [{ name: 'echo', port: { number: 9000, protocol: 'http' } }]
  const ports = [{ number: 80, protocol: 'http' }]
  return [
    asks('rate-limit-local-http', limits({ local: { http } })),
    asks('rate-limit-local-tcp', limits({ local: { tcp } })),
    asks('ingress-http', own('IngressBackend', { backends, sources: [{ kind: 'IPRange', name: '192.0.2.0/32' }] })),
    asks('egress-http', own('Egress', { sources: [account('thief')], hosts: ['nobody.invalid'], ports })),
    asks(
      'retries',
      own('Retry', {
        source: account('thief'),
        destinations: [{ kind: 'Service', name: 'echo', namespace }],
        retryPolicy,
      }),
    ),
  ]
}
