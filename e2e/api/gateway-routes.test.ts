import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import type { DeltaDiscoveryResponse } from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { parse } from 'yaml'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ControllerProcess } from './support/controller-process.js'
import { type AnyDefinition, defineKinds, untilServed } from './support/definitions.js'
import { MeshObjects } from './support/mesh-objects.js'
import { SimulatedProxy } from './support/simulated-proxy.js'

const signal = AbortSignal.timeout(400_000)
const meshName = 'gateway'
const osmNamespace = 'osm-system'
const shop = 'shop'
const depot = 'depot'
/** Where set-up has put the conformance suite, with the definitions. Without it, jest.config.mjs leaves this file out. */
const suite = process.env.OSM_GATEWAY_API ?? ''
const types = { TCPRoute: resourceTypes.GatewayTCPRoute, TLSRoute: resourceTypes.TLSRoute }
type Kind = keyof typeof types
const strange = 'strange.example.com'
const timeoutMs = 120_000

interface ParentStatus {
  readonly parentRef: { readonly name: string; readonly namespace?: string }
  readonly controllerName: string
  readonly conditions: readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
    readonly observedGeneration: number
  }[]
}

/** Refuses whatever has the server name, and quotes it. */
function refuseName({ resources }: DeltaDiscoveryResponse): string | undefined {
  const refused = resources.filter(({ resource }) => Buffer.from(resource?.value ?? []).includes(strange))
  return refused.length === 0 ? undefined : `${refused.map(({ name }) => name).join(', ')}: "${strange}" is too strange`
}

const service = (namespace: string, name: string, ports: readonly object[]): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: { selector: { app: name }, ports },
  })
const tcp = { name: 'tcp-data', port: 5432, targetPort: 5432 }
const parent = (name: string, port = tcp.port) => ({ group: '', kind: 'Service', name, port })
const backend = (name: string, more: object = {}) => ({ name, port: tcp.port, ...more })
const route = (kind: Kind, name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'gateway.networking.k8s.io/v1', kind, metadata: { namespace: shop, name }, spec })
const tcpRoute = (name: string, backends: readonly object[], parents: readonly object[] = [parent('front')]): string =>
  route('TCPRoute', name, { parentRefs: parents, rules: [{ backendRefs: backends }] })
const tlsRoute = (name: string, hostnames: readonly string[], parents: readonly object[]): string =>
  route('TLSRoute', name, { parentRefs: parents, hostnames, rules: [{ backendRefs: [backend('store')] }] })

describe('TCPRoutes and TLSRoutes on an API server', () => {
  let server: OwnApiServer
  let api: KubernetesApi
  let objects: MeshObjects
  let controller: ControllerProcess
  let proxy: SimulatedProxy | undefined
  /** What the answers of the sidecar wait for. */
  let held: Promise<void> | undefined

  const define = async (kind: Kind | 'ReferenceGrant'): Promise<void> => {
    const file = `_${kind.toLowerCase()}s.yaml`
    const names = await readdir(join(suite, 'crds'))
    const text = await readFile(join(suite, 'crds', names.find((name) => name.endsWith(file)) ?? file), 'utf8')
    // The file is a definition of the Gateway API.
    const definition = parse(text) as AnyDefinition
    await api.apply(resourceTypes.CustomResourceDefinition, definition, { fieldManager: 'test', force: true, signal })
    await untilServed(api, definition, signal)
  }
  const parentsOf = async (kind: Kind, name: string): Promise<readonly ParentStatus[]> => {
    const found = await api.get(types[kind], { namespace: shop, name }, signal)
    const { parents = [] } = (found?.status ?? {}) as { readonly parents?: readonly ParentStatus[] }
    return parents.filter(({ controllerName }) => controllerName === 'openservicemesh.io/osm-controller')
  }
  const words = ({ conditions }: ParentStatus): readonly string[] =>
    conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
  /** The conditions of the first parent, once they are these. */
  const says = async (kind: Kind, name: string, ...expected: readonly string[]): Promise<ParentStatus | undefined> => {
    let last: readonly string[] = []
    const [found] = await eventually(
      () => parentsOf(kind, name),
      ([first]) => {
        last = first === undefined ? [] : words(first)
        return expected.every((each) => last.includes(each))
      },
      { timeoutMs, what: `${kind} ${name} to say ${expected.join(', ')}` },
    ).catch((error: unknown) => {
      throw new Error(`${kind} ${name} says ${last.join(', ')}`, { cause: error })
    })
    return found
  }

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    api = server.client.api
    objects = new MeshObjects(api, signal)
    await defineKinds(api, signal)
    await objects.namespace(osmNamespace, {})
    await objects.controllerAccount(osmNamespace)
    await objects.apply(
      `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: ${osmNamespace} }\n` +
        'spec: { sidecar: { sidecarClass: envoy }, traffic: { enablePermissiveTrafficPolicyMode: true }, observability: { enableDebugServer: true } }\n',
    )
    for (const name of [shop, depot]) await objects.namespace(name, { 'openservicemesh.io/monitored-by': meshName })
    for (const name of ['front', 'store', 'tenants']) await objects.apply(service(shop, name, [tcp]))
    await objects.apply(service(depot, 'stock', [tcp]))
    await objects.apply(service(shop, 'web', [{ name: 'http', port: 80, targetPort: 8080 }]))
    controller = await ControllerProcess.start({
      name: 'gateway-routes',
      folder: server.description.folder,
      kubeconfig: await server.client.kubeconfigFor({ namespace: osmNamespace, name: 'osm-controller' }),
      address: '127.0.0.61',
      meshName,
      osmNamespace,
    })
    await controller.untilReady(timeoutMs)
  })

  afterAll(async () => {
    proxy?.close()
    await controller.program.stop()
    await server.stop()
  })

  it('a controller that is ready without the definitions notices them when they come', async () => {
    await expect(api.read('/apis/gateway.networking.k8s.io/v1', signal)).resolves.toBeUndefined()
    await define('TCPRoute')
    await objects.apply(tcpRoute('data', [backend('store', { weight: 9 }), backend('front')]))
    const data = await says(
      'TCPRoute',
      'data',
      'Accepted=True Accepted',
      'ResolvedRefs=True ResolvedRefs',
      'Programmed=True Programmed',
    )
    expect(data).toMatchObject({
      parentRef: { group: '', kind: 'Service', name: 'front', port: 5432 },
      controllerName: 'openservicemesh.io/osm-controller',
    })
    expect(data?.conditions.map(({ observedGeneration }) => observedGeneration)).toEqual([1, 1, 1])
    await define('TLSRoute')
    await objects.apply(tlsRoute('tenants', ['store.example.com'], [parent('tenants')]))
    await says('TLSRoute', 'tenants', 'Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs')
  })

  it('says of each generation what is wrong with a backend, by the reasons of the Gateway API', async () => {
    const backends = [
      ['BackendNotFound', backend('none')],
      ['BackendNotFound', backend('store', { port: 1 })],
      ['InvalidKind', backend('store', { group: 'example.com', kind: 'Bucket' })],
      ['RefNotPermitted', backend('stock', { namespace: depot })],
      ['UnsupportedProtocol', backend('web', { port: 80 })],
    ] as const
    for (const [index, [reason, reference]] of backends.entries()) {
      await objects.apply(tcpRoute('data', [backend('store'), reference]))
      const expected = [`ResolvedRefs=False ${reason}`, 'Accepted=True Accepted', 'Programmed=False NotAccepted']
      await eventually(
        () => parentsOf('TCPRoute', 'data'),
        ([found]) =>
          found !== undefined &&
          expected.every((each) => words(found).includes(each)) &&
          found.conditions.every(({ observedGeneration }) => observedGeneration === index + 2),
        { timeoutMs, what: `${reason} at generation ${String(index + 2)}` },
      )
    }
  })

  it('hears a grant for the kind, and that it is withdrawn', async () => {
    const { GatewayReferenceGrant: type } = resourceTypes
    await define('ReferenceGrant')
    await objects.apply(tcpRoute('data', [backend('stock', { namespace: depot })]))
    await says('TCPRoute', 'data', 'ResolvedRefs=False RefNotPermitted')
    const grant = {
      apiVersion: `${type.group}/${type.version}`,
      kind: type.kind,
      metadata: { namespace: depot, name: 'shop' },
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'TCPRoute', namespace: shop }],
        to: [{ group: '', kind: 'Service' }],
      },
    }
    await api.apply(type, grant, { fieldManager: 'test', force: true, signal })
    await says('TCPRoute', 'data', 'ResolvedRefs=True ResolvedRefs', 'Programmed=True Programmed')
    await api.delete(type, { namespace: depot, name: 'shop' }, { signal })
    await says('TCPRoute', 'data', 'ResolvedRefs=False RefNotPermitted')
  })

  it('accepts no route for a Service that cannot have it, or where another one holds', async () => {
    await objects.apply(tcpRoute('nowhere', [backend('store')], [parent('none')]))
    await objects.apply(tcpRoute('requests', [backend('store')], [parent('web', 80)]))
    await objects.apply(tlsRoute('later', ['store.example.com'], [parent('tenants')]))
    await says('TCPRoute', 'nowhere', 'Accepted=False NoMatchingParent')
    await says('TCPRoute', 'requests', 'Accepted=False NoMatchingParent')
    await says('TLSRoute', 'later', 'Accepted=False Conflicted')
    // Both kinds at one port: server names hold.
    await objects.apply(tcpRoute('beside', [backend('store')], [parent('tenants')]))
    await says('TCPRoute', 'beside', 'Accepted=False Conflicted')
    await says('TLSRoute', 'tenants', 'Accepted=True Accepted')
  })

  it('leaves a TCPRoute of SMI with the same name alone', async () => {
    await objects.apply(
      JSON.stringify({
        apiVersion: 'specs.smi-spec.io/v1alpha4',
        kind: 'TCPRoute',
        metadata: { namespace: shop, name: 'data' },
        spec: { matches: { ports: [5432] } },
      }),
    )
    await objects.apply(tcpRoute('data', [backend('store')]))
    await says('TCPRoute', 'data', 'ResolvedRefs=True ResolvedRefs')
    const smi = await api.get(resourceTypes.TCPRoute, { namespace: shop, name: 'data' }, signal)
    expect(smi?.status ?? {}).not.toHaveProperty('parents')
  })

  it('is programmed as long as no sidecar refuses it', async () => {
    const { uuid } = await objects.pod({
      namespace: shop,
      name: 'client',
      account: 'client',
      address: '10.9.1.2',
      meshName,
    })
    await eventually(
      () => controller.debug('/debug/status'),
      ({ body }) => body.includes(uuid),
      { timeoutMs, what: 'that the controller knows the sidecar' },
    )
    proxy = await SimulatedProxy.connect({
      api,
      osmNamespace,
      target: '127.0.0.61:15128',
      uuid,
      account: { namespace: shop, name: 'client' },
      signal,
      refuse: refuseName,
      hold: () => held,
    })
    await objects.apply(tlsRoute('strange', [strange], [parent('tenants')]))
    const found = await says('TLSRoute', 'strange', 'Accepted=True Accepted', 'Programmed=False Refused')
    expect(found?.conditions.find(({ type }) => type === 'Programmed')?.message).toContain(`${shop}/client`)
    await objects.apply(tlsRoute('strange', ['usual.example.com'], [parent('tenants')]))
    await says('TLSRoute', 'strange', 'Programmed=True Programmed')
  })

  it('is programmed only once the sidecar of a client has acknowledged it', async () => {
    let release = (): void => undefined
    held = new Promise((resolve) => (release = resolve))
    await objects.apply(tlsRoute('strange', ['held.example.com'], [parent('tenants')]))
    await says('TLSRoute', 'strange', 'Accepted=True Accepted', 'Programmed=Unknown Pending')
    held = undefined
    release()
    await says('TLSRoute', 'strange', 'Accepted=True Accepted', 'Programmed=True Programmed')
  })

  it('a controller goes on without the definitions, and takes them again', async () => {
    const name = 'tlsroutes.gateway.networking.k8s.io'
    await api.delete(resourceTypes.CustomResourceDefinition, { namespace: '', name }, { signal })
    await eventually(
      () => controller.debug('/debug/policies'),
      ({ body }) => !body.includes('held.example.com'),
      { timeoutMs, what: 'that no policy has a server name' },
    )
    await says('TCPRoute', 'beside', 'Accepted=True Accepted')
    await expect(controller.health('ready')).resolves.toBe(200)
    await define('TLSRoute')
    await objects.apply(tlsRoute('tenants', ['store.example.com'], [parent('tenants')]))
    await says('TLSRoute', 'tenants', 'Accepted=True Accepted')
    await says('TCPRoute', 'beside', 'Accepted=False Conflicted')
  })
})
