import { beforeAll, describe, expect, it } from '@jest/globals'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'
import { createPipyDriver } from '@osm-ts/driver-pipy'

import { namespaceOf, podOf, portsOf, requestOf, settingsOf } from '../../test/fixture.js'
import { injectPod, type InjectionPorts } from '../inject/inject-pod.js'
import { type JsonObject, objectOf, objectsOf, textOf } from '../json/json.js'

const answering = { localDNSProxy: { enable: true } }

describe('DNS of a pod whose sidecar answers it', () => {
  let ports: InjectionPorts

  beforeAll(async () => {
    ports = await portsOf()
  })

  interface Wishes {
    readonly sidecarClass?: string
    readonly sidecar?: JsonObject
    readonly traffic?: JsonObject
    readonly nameservers?: readonly string[]
    readonly spec?: JsonObject
  }

  /** `spec` of a pod, injected. */
  async function specOf({ sidecarClass = 'pipy', spec = {}, nameservers, ...config }: Wishes): Promise<JsonObject> {
    const settings = settingsOf(
      {
        sidecar: { sidecarImage: 'example/pipy:1', ...answering, ...config.sidecar, sidecarClass },
        ...(config.traffic === undefined ? {} : { traffic: config.traffic }),
      },
      {
        drivers: [createEnvoyDriver(), createPipyDriver()],
        ...(nameservers === undefined ? {} : { nameservers }),
      },
    )
    const pod = podOf()
    const changed = { ...pod, spec: { ...objectOf(pod.spec), ...spec } }
    const result = await injectPod(requestOf(changed, namespaceOf()), settings, ports)
    if (result.outcome !== 'injected') throw new Error(JSON.stringify(result))
    return objectOf(result.pod.spec)
  }
  const usual = {
    nameservers: ['127.0.0.153', '10.96.0.10'],
    searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
    options: [{ name: 'ndots', value: '5' }],
  }
  const scriptOf = (spec: JsonObject): string =>
    objectsOf(spec.initContainers)
      .map(({ args }) => textOf((args as readonly string[])[1]))
      .join('')

  it('asks it first, and then the servers of the cluster; its questions are led to it', async () => {
    const spec = await specOf({})
    expect(spec).toMatchObject({ dnsPolicy: 'None', dnsConfig: usual })
    expect(scriptOf(spec)).toMatch(/-d 127[.]0[.]0[.]153\/32 .*--dport 53/)
    expect(scriptOf(spec)).toMatch(/-j DNAT --to-destination 127[.]0[.]0[.]153:5300/)
  })

  it('names the servers of MeshConfig in place of those of the cluster', async () => {
    const named = {
      enable: true,
      primaryUpstreamDNSServerIPAddr: '192.0.2.1',
      secondaryUpstreamDNSServerIPAddr: '192.0.2.2',
    }
    const { dnsConfig } = await specOf({ sidecar: { localDNSProxy: named } })
    expect(dnsConfig).toMatchObject({ nameservers: ['127.0.0.153', '192.0.2.1', '192.0.2.2'] })
  })

  it('keeps what the pod adds, as far as Kubernetes takes it, and is the same when it is injected again', async () => {
    const dnsConfig = {
      nameservers: ['192.0.2.9', '192.0.2.10'],
      searches: ['example', 'cluster.local'],
      options: [{ name: 'timeout', value: '1' }],
    }
    const spec = await specOf({ spec: { dnsConfig } })
    expect(spec.dnsConfig).toEqual({
      nameservers: [...usual.nameservers, '192.0.2.9'],
      searches: [...usual.searches, 'example'],
      options: [...usual.options, { name: 'timeout', value: '1' }],
    })
    const { dnsPolicy, dnsConfig: written = {} } = spec
    expect(await specOf({ spec: { dnsPolicy: textOf(dnsPolicy), dnsConfig: written } })).toMatchObject({
      dnsPolicy,
      dnsConfig: written,
    })
    const own = { options: [{ name: 'ndots', value: '1' }] }
    expect(await specOf({ spec: { dnsConfig: own } })).toMatchObject({ dnsConfig: own })
  })

  it.each<[string, Wishes]>([
    ['the proxy is off', { sidecar: { localDNSProxy: { enable: false } } }],
    ['the class does not answer', { sidecarClass: 'envoy' }],
    ['nothing is redirected', { traffic: { interceptionMode: 'none' } }],
    ['there are no servers', { nameservers: [] }],
    ['the pod has a DNS of its own', { spec: { dnsPolicy: 'Default' } }],
  ])('is left alone where %s', async (_, wishes) => {
    const spec = await specOf(wishes)
    expect(spec).not.toHaveProperty('dnsConfig')
    expect(spec.dnsPolicy).toBe(wishes.spec?.dnsPolicy)
  })
})
