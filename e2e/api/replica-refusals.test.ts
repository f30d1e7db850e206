import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mergeParticipation, type ParticipationReport, type ProxyStatus } from '@osm-ts/core'
import { type KubernetesApi, type ObjectStatus, resourceTypes } from '@osm-ts/kubernetes'
import type { DeltaDiscoveryResponse } from '@osm-ts/envoy-api/envoy/service/discovery/v3/discovery_pb.js'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { programsFrom, startApiServer, type OwnApiServer } from './harness/index.js'
import { ControllerProcess } from './support/controller-process.js'
import { defineKinds } from './support/definitions.js'
import { MeshObjects } from './support/mesh-objects.js'
import { SimulatedProxy } from './support/simulated-proxy.js'

const signal = AbortSignal.timeout(400_000)
const meshName = 'refusals'
const osmNamespace = 'osm-system'
const shop = 'refusals-shop'
const addresses = ['127.0.0.41', '127.0.0.42', '127.0.0.43'] as const
const clients = ['client-0', 'client-1', 'client-2'] as const

const host = 'catalogue.example.com'

/** Refuses whatever holds the host of the Egress, and quotes it. */
function refuseHost({ resources }: DeltaDiscoveryResponse): string | undefined {
  const refused = resources.filter(({ resource }) => Buffer.from(resource?.value ?? []).includes(host))
  return refused.length === 0 ? undefined : `${refused.map(({ name }) => name).join(', ')}: "${host}" is too strange`
}

describe('three controllers, each with a sidecar that refuses what the same object asks for', () => {
  let server: OwnApiServer
  let api: KubernetesApi
  const controllers: ControllerProcess[] = []
  const proxies: SimulatedProxy[] = []

  const programmed = async (): Promise<{ readonly status: string; readonly message: string }> => {
    const object = await api.get(resourceTypes.Egress, { namespace: shop, name: 'catalogue' }, signal)
    const { conditions = [] } = (object?.status ?? {}) as Partial<ObjectStatus>
    const { status = '', message = '' } = conditions.find(({ type }) => type === 'Programmed') ?? {}
    return { status, message }
  }
  const namedIn = (message: string): readonly string[] =>
    clients.filter((client) => message.includes(`${shop}/${client}`))

  beforeAll(async () => {
    server = await startApiServer(programsFrom(process.env), signal)
    api = server.client.api
    const objects = new MeshObjects(api, signal)
    await defineKinds(api, signal)
    await objects.namespace(osmNamespace, {})
    await objects.controllerAccount(osmNamespace)
    await objects.apply(
      `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config, namespace: ${osmNamespace} }\n` +
        'spec: { sidecar: { sidecarClass: envoy }, observability: { enableDebugServer: true }, featureFlags: { enableEgressPolicy: true } }\n',
    )
    await objects.namespace(shop, { 'openservicemesh.io/monitored-by': meshName })
    await objects.apply(
      JSON.stringify({
        apiVersion: 'policy.openservicemesh.io/v1alpha1',
        kind: 'Egress',
        metadata: { name: 'catalogue', namespace: shop },
        spec: {
          sources: clients.map((name) => ({ kind: 'ServiceAccount', name, namespace: shop })),
          hosts: [host],
          ports: [{ number: 80, protocol: 'http' }],
        },
      }),
    )
    const kubeconfig = await server.client.kubeconfigFor({ namespace: osmNamespace, name: 'osm-controller' })
    for (const [at, address] of addresses.entries()) {
      const controller = await ControllerProcess.start({
        name: `refusals-${String(at)}`,
        folder: server.description.folder,
        kubeconfig,
        address,
        meshName,
        osmNamespace,
      })
      controllers.push(controller)
      await controller.untilReady(90_000)
    }
    for (const [at, name] of clients.entries()) {
      const address = `10.9.1.${String(at + 2)}`
      const { uuid } = await objects.pod({ namespace: shop, name, account: name, address, meshName })
      await eventually(
        () => controllers[at]?.debug('/debug/status'),
        (answer) => answer?.body.includes(uuid) === true,
        { what: `controller ${String(at)} to know ${name}` },
      )
      proxies.push(
        await SimulatedProxy.connect({
          api,
          osmNamespace,
          target: `${addresses[at] ?? ''}:15128`,
          uuid,
          account: { namespace: shop, name },
          signal,
          refuse: refuseHost,
        }),
      )
    }
  })

  afterAll(async () => {
    for (const proxy of proxies) proxy.close()
    await Promise.all(controllers.map(({ program }) => program.stop()))
    await server.stop()
  })

  it('each know what their own sidecar refuses', async () => {
    const rejected = async (controller: ControllerProcess) => {
      const { proxies: all } = await controller.debugJson<{ readonly proxies: readonly ProxyStatus[] }>('/debug/status')
      return all.flatMap(({ name, rejected: parts }) => parts.map((part) => ({ name, part })))
    }
    const found = await eventually(
      () => Promise.all(controllers.map(rejected)),
      (parts) => parts.every((each) => each.length > 0),
      { what: 'a refusal at each replica' },
    )
    expect(found.map((parts) => [...new Set(parts.map(({ name }) => name))])).toEqual(
      clients.map((client) => [`${shop}/${client}`]),
    )
    for (const parts of found)
      expect(parts.flatMap(({ part }) => part.sources.map(({ object }) => object.kind))).toContain('Egress')
  })

  it('name every sidecar in the condition of the object, whichever replica it is connected to', async () => {
    const { status } = await eventually(programmed, ({ message }) => namedIn(message).length === clients.length, {
      what: 'a condition that names all sidecars',
    })
    expect(status).toBe('False')
  })

  it('know together who takes part', async () => {
    const page = (controller: ControllerProcess) => controller.debugJson<ParticipationReport>('/debug/participants')
    const { proxies: known } = mergeParticipation(await Promise.all(controllers.map(page)))
    expect(known.map(({ name, state }) => `${name} ${state}`)).toEqual(
      clients.map((client) => `${shop}/${client} withoutEndpoint`),
    )
  })

  it('forget a sidecar that has left, and continue without a leader that has', async () => {
    const leaders = await Promise.all(controllers.map((controller) => controller.metric('osm_leader')))
    const leading = leaders.indexOf(1)
    const left = clients.filter((_, at) => at !== leading)
    proxies[leading]?.close()
    await eventually(programmed, ({ message }) => namedIn(message).join() === left.join(), {
      what: 'a condition without the sidecar that has left',
    })
    const seen: string[] = []
    await controllers[leading]?.program.stop()
    await eventually(
      async () => {
        seen.push((await programmed()).status)
        return Promise.all(controllers.filter((_, at) => at !== leading).map((other) => other.metric('osm_leader')))
      },
      (leads) => leads.includes(1),
      { what: 'another leader' },
    )
    // The new leader has its say, and says nothing else meanwhile.
    const [closing, staying] = left
    proxies[clients.indexOf(closing ?? clients[0])]?.close()
    await eventually(
      async () => {
        const now = await programmed()
        seen.push(now.status)
        return now
      },
      ({ message }) => namedIn(message).join() === staying,
      { what: 'a condition that the new leader has written' },
    )
    expect(new Set(seen)).toEqual(new Set(['False']))
  })
})
