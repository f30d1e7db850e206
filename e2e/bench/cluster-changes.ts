import {
  apiVersionOf,
  type KubernetesApi,
  type KubernetesManifest,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'

import { callingCommand, type Answerer, type CallingWorkload } from './cluster-calling-pods.js'
import type { Mesh } from '../cluster/support/mesh.js'
import { anyHttp, trafficTarget } from '../cluster/support/smi.js'
import type { TestNamespace } from '../cluster/support/test-namespace.js'
import { deployment, server, service } from '../cluster/support/workloads.js'

/** Where policies change. */
export interface ConvergenceOptions {
  readonly api: KubernetesApi
  readonly mesh: Mesh
  /** Meshed pods, those that are called included. */
  readonly pods: number
  /** How often each kind of change is made. */
  readonly rounds: number
}

/** What runs while policies change. */
export interface ConvergenceShop {
  readonly shop: TestNamespace
  readonly outside: TestNamespace
  readonly callers: CallingWorkload
}

/** A change of policy, and what answers the calls of all callers once it is in force. */
export interface PolicyChange {
  readonly kind: string
  readonly apply: () => Promise<unknown>
  readonly expected: { readonly place: number; readonly by: Answerer }
}

const callsEveryMs = 250
const servers = ['server-1', 'server-2']
const port = 8080
/** Places of what is called: a Service of the mesh, and one outside. */
const [inside, beyond] = [0, 1]

/** Runs two servers, and callers of them and of a server outside of the mesh. */
export async function prepareConvergence({ mesh, pods }: ConvergenceOptions): Promise<ConvergenceShop> {
  const [shop, outside] = await Promise.all([
    mesh.createNamespace(`${mesh.name}-shop`),
    mesh.createOutsideNamespace(`${mesh.name}-outside`),
  ])
  const { name: namespace, image } = shop
  const ports = { [port]: 'http' }
  await Promise.all([
    shop.run(
      ...servers.map((name) => server({ name, namespace, image, ports })),
      service({ name: 'all', namespace, selector: { app: 'server-1' }, ports: [{ port, appProtocol: 'http' }] }),
    ),
    outside.run(server({ name: 'bank', namespace: outside.name, image, ports })),
  ])
  const replicas = pods - servers.length
  const urls = [`http://all.${namespace}:${port}/books`, `http://bank.${outside.name}:${port}/`]
  const container = { command: callingCommand(callsEveryMs, urls), args: [] }
  await shop.run(deployment({ name: 'caller', namespace, image, replicas, container }))
  return { shop, outside, callers: { namespace, app: 'caller', replicas, everyMs: callsEveryMs } }
}

/** One change of each kind, in an order in which each of them changes who answers. */
export function convergenceChanges(
  { api, mesh }: ConvergenceOptions,
  { shop: { name: namespace }, outside }: ConvergenceShop,
): readonly PolicyChange[] {
  const { signal } = new AbortController()
  const apply = (type: ResourceType, manifest: object) =>
    api.apply(
      type,
      { ...(manifest as KubernetesManifest), apiVersion: apiVersionOf(type) },
      { fieldManager: 'bench', force: true, signal },
    )
  const remove = (type: ResourceType, name: string) => api.delete(type, { namespace, name }, { signal })
  const permissive = (isOn: boolean) =>
    api.mergePatch(
      resourceTypes.MeshConfig,
      { namespace: mesh.namespace, name: 'osm-mesh-config' },
      { spec: { traffic: { enablePermissiveTrafficPolicyMode: isOn } } },
      { signal },
    )
  const routes = (pathRegex: string) =>
    apply(resourceTypes.HTTPRouteGroup, {
      ...anyHttp(namespace),
      spec: { matches: [{ name: 'all', pathRegex, methods: ['GET'] }] },
    })
  const target = (name: string) =>
    apply(
      resourceTypes.TrafficTarget,
      trafficTarget({ destination: { namespace, name }, sources: [{ namespace, name: 'caller' }] }),
    )
  const change = (kind: string, place: number, by: Answerer, make: () => Promise<unknown>): PolicyChange => ({
    kind,
    apply: make,
    expected: { place, by },
  })
  return [
    change('permissive mode on', inside, 'server-1', () => permissive(true)),
    change('permissive mode off', inside, undefined, () => permissive(false)),
    change('TrafficTarget created', inside, 'server-1', async () => {
      await Promise.all([routes('.*'), target('server-2')])
      await target('server-1')
    }),
    change('HTTPRouteGroup narrowed', inside, undefined, () => routes('/other')),
    change('HTTPRouteGroup widened', inside, 'server-1', () => routes('.*')),
    change('TrafficSplit created', inside, 'server-2', () =>
      apply(resourceTypes.TrafficSplit, {
        kind: 'TrafficSplit',
        metadata: { namespace, name: 'all' },
        spec: { service: 'all', backends: [{ service: 'server-2', weight: 100 }] },
      }),
    ),
    change('TrafficSplit deleted', inside, 'server-1', () => remove(resourceTypes.TrafficSplit, 'all')),
    change('TrafficTarget deleted', inside, undefined, async () => {
      await remove(resourceTypes.TrafficTarget, 'server-1')
      await remove(resourceTypes.TrafficTarget, 'server-2')
    }),
    change('Egress created', beyond, 'bank', () =>
      apply(resourceTypes.Egress, {
        kind: 'Egress',
        metadata: { namespace, name: 'bank' },
        spec: {
          sources: [{ kind: 'ServiceAccount', name: 'caller', namespace }],
          hosts: [`bank.${outside.name}`],
          ports: [{ number: port, protocol: 'http' }],
        },
      }),
    ),
    change('Egress deleted', beyond, undefined, () => remove(resourceTypes.Egress, 'bank')),
  ]
}
