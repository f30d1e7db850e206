import { expect } from '@jest/globals'

import { formatProblem } from '../../../src/problem.js'
import { SnapshotBuilder, type Snapshot } from '../../../src/snapshot/index.js'
import { ObjectDecoder } from '../../../src/spec/object-decoder.js'
import type { MeshObject } from '../../../src/spec/objects.js'
import { readObjects } from '../../../src/spec/read-objects.js'

/** A change of {@link faultlessMesh}, and the one problem that must come of it: severity, code and field, and part of the message. */
export type ValidationCase = readonly [title: string, text: string, expected: string, message: string]

/** A small mesh without fault. Cases below replace objects of it, or add some. */
export const faultlessMesh = `
{ apiVersion: v1, kind: ServiceAccount, metadata: { name: web } }
---
{ apiVersion: v1, kind: ServiceAccount, metadata: { name: client } }
---
{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { selector: { app: web }, ports: [{ port: 80, targetPort: http }] } }
---
{ apiVersion: v1, kind: Service, metadata: { name: web-v2 }, spec: { ports: [{ port: 80 }] } }
---
apiVersion: standalone.openservicemesh.io/v1alpha1
kind: Workload
metadata: { name: web, labels: { app: web } }
spec: { serviceAccountName: web, command: [x], ports: [{ name: http, port: 8080 }] }
---
{ apiVersion: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, metadata: { name: routes }, spec: { matches: [{ name: buy, pathRegex: /buy }] } }
---
{ apiVersion: specs.smi-spec.io/v1alpha4, kind: TCPRoute, metadata: { name: ports }, spec: { matches: { ports: [1] } } }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: target }
spec:
  destination: { kind: ServiceAccount, name: web }
  rules: [{ kind: HTTPRouteGroup, name: routes, matches: [buy] }, { kind: TCPRoute, name: ports }]
  sources: [{ kind: ServiceAccount, name: client }]
---
apiVersion: split.smi-spec.io/v1alpha4
kind: TrafficSplit
metadata: { name: split }
spec: { service: web, backends: [{ service: web, weight: 1 }, { service: web-v2, weight: 0 }] }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: egress }
spec: { sources: [{ kind: ServiceAccount, name: client, namespace: default }], hosts: [example.com, "*.example.org"], ports: [{ number: 443, protocol: https }] }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: IngressBackend
metadata: { name: ingress }
spec: { backends: [{ name: web, port: { number: 8080, protocol: http } }], sources: [{ kind: Service, name: web, namespace: default }] }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: UpstreamTrafficSetting
metadata: { name: setting }
spec: { host: web.default.svc.cluster.local, connectionSettings: { tcp: { connectTimeout: 5s } } }
---
apiVersion: policy.openservicemesh.io/v1alpha1
kind: Retry
metadata: { name: retry }
spec:
  source: { kind: ServiceAccount, name: client, namespace: default }
  destinations: [{ kind: Service, name: web, namespace: default }]
  retryPolicy: { retryOn: "5xx, 503", perTryTimeout: 1s, numRetries: 1, retryBackoffBaseInterval: 1s }
---
{ apiVersion: plugin.flomesh.io/v1alpha1, kind: Plugin, metadata: { name: plugin }, spec: { pipyscript: 'export function request() {}' } }
`

const decoder = new ObjectDecoder()

/** Objects of a text, which must have no problem by themselves. */
export function load(text: string): readonly MeshObject[] {
  const { objects, problems } = readObjects(text, { file: 'f.yaml', decoder })
  expect(problems.map(formatProblem)).toEqual([])
  return objects
}

/** A snapshot of texts. Later versions of an object replace earlier ones. */
export function snapshotOf(...texts: readonly string[]): Snapshot {
  const builder = new SnapshotBuilder(['x'])
  for (const text of texts) builder.apply([{ source: 'x', upserts: load(text), deletes: [] }])
  return builder.snapshot
}

const smi = 'split.smi-spec.io/v1alpha4'
export const policy = 'policy.openservicemesh.io/v1alpha1'
export const object = (apiVersion: string, kind: string, name: string, spec: string): string =>
  `{ apiVersion: ${apiVersion}, kind: ${kind}, metadata: { name: ${name} }, spec: ${spec} }`
export const target = (spec: string): string => object('access.smi-spec.io/v1alpha3', 'TrafficTarget', 'target', spec)
export const split = (spec: string, name = 'split'): string => object(smi, 'TrafficSplit', name, spec)
export const routes = (matches: string): string =>
  object('specs.smi-spec.io/v1alpha4', 'HTTPRouteGroup', 'routes', `{ matches: [{ name: buy }, ${matches}] }`)
export const service = (ports: string): string =>
  object('v1', 'Service', 'web', `{ selector: { app: web }, ports: ${ports} }`)
export const balanced = (spec: string): string =>
  object('v1', 'Service', 'web', `{ selector: { app: web }, ports: [{ port: 8080 }], ${spec} }`)
export const workload = (spec: string): string =>
  `{ apiVersion: standalone.openservicemesh.io/v1alpha1, kind: Workload, metadata: { name: other }, spec: { serviceAccountName: web, ${spec} } }`
export const egress = (spec: string, name = 'egress'): string =>
  object(policy, 'Egress', name, `{ sources: [{ kind: ServiceAccount, name: client, namespace: default }], ${spec} }`)
export const ingress = (spec: string, name = 'ingress'): string => object(policy, 'IngressBackend', name, spec)
export const setting = (spec: string, name = 'setting'): string => object(policy, 'UpstreamTrafficSetting', name, spec)
export const webOfShop =
  '{ apiVersion: v1, kind: Service, metadata: { name: web, namespace: shop }, spec: { ports: [{ port: 80 }] } }'
export const retry = (spec: string): string => object(policy, 'Retry', 'retry', spec)
export const ranges = 'sources: [{ kind: IPRange, name: 10.0.0.0/8 }]'
export const rule = 'rules: [{ kind: TCPRoute, name: ports }]'
export const source = 'sources: [{ kind: ServiceAccount, name: client }]'
export const retryPolicy =
  'retryPolicy: { retryOn: 5xx, perTryTimeout: 1s, numRetries: 1, retryBackoffBaseInterval: 1s }'
