import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Driver } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

import { namespaceOf, podOf, portsOf, requestOf, settingsOf } from '../../test/fixture.js'
import type { JsonObject } from '../json/json.js'
import { PodCertificateSupport } from '../server/pod-certificate-support.js'
import { type InjectedPod, type InjectionPorts, injectPod } from './inject-pod.js'

const settings = settingsOf({}, { proxyIdentity: 'podCertificate' })

describe('a sidecar whose key its kubelet makes', () => {
  let usual: InjectionPorts
  let ports: InjectionPorts

  beforeAll(async () => {
    usual = await portsOf()
    ports = {
      ...usual,
      issue: () => Promise.reject(new Error('no certificate is issued here')),
      reusableUuid: () => Promise.reject(new Error('there is no Secret to look at')),
    }
  })

  async function injected(pod: JsonObject, using = settings, by = ports): Promise<InjectedPod> {
    const result = await injectPod(requestOf(pod, namespaceOf()), using, by)
    if (result.outcome !== 'injected') throw new Error(JSON.stringify(result))
    return result
  }
  const specOf = ({ pod }: InjectedPod) => pod.spec as Readonly<Record<string, readonly JsonObject[]>>

  it('takes key and certificate from the kubelet and all other files from annotations, without a Secret', async () => {
    const pod = await injected(podOf())
    expect(pod.secret).toBeUndefined()
    const nameOf = (path: string): string => `${pod.uuid}.files.openservicemesh.io/${path}`
    const itemOf = (path: string) => ({ path, fieldRef: { fieldPath: `metadata.annotations['${nameOf(path)}']` } })
    const podCertificate = {
      signerName: 'sidecar.openservicemesh.io/osm',
      keyType: 'ECDSAP256',
      maxExpirationSeconds: 86_400,
      keyPath: 'sds_key.pem',
      certificateChainPath: 'sds_cert.pem',
    }
    const items = [
      'bootstrap.yaml',
      'tls_certificate_sds_secret.yaml',
      'validation_context_sds_secret.yaml',
      'cacert.pem',
    ].map(itemOf)
    expect(specOf(pod).volumes).toEqual([
      {
        name: 'sidecar-bootstrap-config-volume',
        projected: { sources: [{ podCertificate }, { downwardAPI: { items } }] },
      },
    ])
    const { annotations = {} } = pod.pod.metadata as { readonly annotations?: Readonly<Record<string, string>> }
    expect(JSON.parse(annotations[nameOf('bootstrap.yaml')] ?? '')).toMatchObject({
      node: { id: `${pod.uuid}.sidecar.books.shop.cluster.local` },
    })
    expect(annotations[nameOf('cacert.pem')]).toBe('root of the control plane\n')
    expect(JSON.stringify(pod)).not.toContain('PRIVATE KEY')
  })

  it('is another one when the pod is shown again, and nothing of the first is left', async () => {
    const first = await injected(podOf())
    const again = await injected(first.pod)
    expect(again.uuid).not.toBe(first.uuid)
    expect(JSON.stringify(again.pod)).not.toContain(first.uuid)
    expect(specOf(again).containers?.map(({ name }) => name)).toEqual(['app', 'sidecar'])
  })

  it('takes the place of one with a Secret in a copy of a pod, and gives it back', async () => {
    const bySecret = await injected(podOf(), settingsOf(), usual)
    const byKubelet = await injected(bySecret.pod)
    expect(JSON.stringify(byKubelet.pod)).not.toContain('secretName')
    const back = await injected(byKubelet.pod, settingsOf(), usual)
    expect(back.secret).toBeDefined()
    expect(JSON.stringify(back.pod)).not.toContain('files.openservicemesh.io')
  })

  const withFile =
    (path: string, content: 'key' | 'text') =>
    (driver: Driver): Partial<Driver> => ({
      patch: async (context) => {
        const patch = await driver.patch(context)
        const file = { path, content: content === 'key' ? ({ from: 'bootstrap.key' } as const) : { text: '' } }
        return { ...patch, files: [...patch.files, file] }
      },
    })

  it.each<[string, string, RegExp, (driver: Driver) => Partial<Driver>]>([
    [
      'of a class that reads its certificate once',
      'OSM_INJECT_CLASS',
      /class envoy cannot renew their proxy certificate/,
      ({ capabilities }) => ({
        capabilities: {
          ...capabilities,
          features: capabilities.features.filter((feature) => feature !== 'proxy-certificate-renewal'),
        },
      }),
    ],
    ['whose driver wants the key twice', 'OSM_INJECT_PATCH', /names 2 files for bootstrap.key/, withFile('k2', 'key')],
    [
      'whose driver names a file as no annotation can be called',
      'OSM_INJECT_PATCH',
      /file a{64} of the driver cannot be named/,
      withFile('a'.repeat(64), 'text'),
    ],
  ])('is refused to pods %s', async (_what, code, message, change) => {
    const envoy = createEnvoyDriver()
    const drivers = [{ ...envoy, ...change(envoy) }]
    const result = await injectPod(
      requestOf(podOf()),
      settingsOf({}, { proxyIdentity: 'podCertificate', drivers }),
      ports,
    )
    expect(result).toMatchObject({ outcome: 'refused', error: { code, message: expect.stringMatching(message) } })
  })

  it('is refused where the API server does not take the requests of kubelets, until it does', async () => {
    let now = 0
    const known: { answer?: unknown } = {}
    let asked = 0
    const read = async (): Promise<unknown> => {
      asked += 1
      return known.answer
    }
    const support = new PodCertificateSupport({ read }, () => now)
    const using = { ...ports, assertPodCertificates: (signal: AbortSignal) => support.assertServed(signal) }
    const look = () => injectPod(requestOf(podOf()), settings, using)
    await expect(look()).resolves.toMatchObject({
      outcome: 'refused',
      error: { code: 'OSM_INJECT_POD_CERTIFICATES' },
    })
    const once = asked
    await look()
    expect(asked).toBe(once)
    known.answer = { resources: [{ name: 'podcertificaterequests' }] }
    now = 5_001
    await expect(look()).resolves.toMatchObject({ outcome: 'injected' })
  })
})
