import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { startTestMesh, type TestMesh } from './support/mesh.js'
import { clientAndStore, echo } from './support/store.js'
import { openTcp, throughProxy, type Answer } from './support/traffic.js'
import { meshConfig, service } from './support/yaml.js'

type Settings = Readonly<Record<string, unknown>>

const config = (sidecar: Settings, featureFlags: Settings = {}): string =>
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false }, sidecar, featureFlags })

describe('settings of the mesh on real Envoys', () => {
  let mesh: TestMesh

  const get = (): Promise<Answer> => throughProxy(mesh.proxyOf('shop/client'), 'http://store.shop:8080/any')

  /** Counters of a sidecar by name, without zeros. */
  async function counters(workloadName: string, filter: string): Promise<ReadonlyMap<string, number>> {
    const { address = '', port = 0 } = mesh.instance(workloadName).admin ?? {}
    const text = await (
      await fetch(`http://${address}:${port}/stats?usedonly&filter=${encodeURIComponent(filter)}`)
    ).text()
    return new Map([...text.matchAll(/^(\S+): ([1-9]\d*)$/gm)].map(([, name = '', value]) => [name, Number(value)]))
  }

  /** How many handshakes of the store have agreed on something. */
  async function handshakes(on: string): Promise<number> {
    const found = await counters('shop/store', String.raw`ssl\.(versions|ciphers|curves)`)
    return [...found].reduce((sum, [name, count]) => sum + (name.endsWith(`.ssl.${on}`) ? count : 0), 0)
  }

  /** What connections to the store have agreed on, such as `versions.TLSv1.3`. */
  async function agreed(): Promise<readonly string[]> {
    const found = await counters('shop/store', String.raw`ssl\.(versions|ciphers|curves)`)
    return [...found.keys()].map((name) => name.replace(/^.*\.ssl\./, ''))
  }

  beforeAll(async () => {
    mesh = await startTestMesh({
      'config.yaml': [config({})],
      'workloads.yaml': [...clientAndStore, ...echo],
    })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('prefer TLS 1.3 where nothing is said', async () => {
    expect((await get()).status).toBe(200)
    const found = await agreed()
    expect(found).toContain('versions.TLSv1.3')
    expect(found).not.toContain('versions.TLSv1.2')
  })

  it('bound the version of TLS, and name ciphers and curves', async () => {
    const cipher = 'ECDHE-ECDSA-AES256-GCM-SHA384'
    await mesh.apply(
      'config.yaml',
      config({
        tlsMaxProtocolVersion: 'TLSv1_2',
        cipherSuites: [cipher, 'NO-SUCH-SUITE'],
        ecdhCurves: ['P-384', 'P-256'],
      }),
    )
    // Connections from before the change are drained first.
    const found = await eventually(
      async () => {
        expect((await get()).status).toBe(200)
        return agreed()
      },
      (all) => all.includes('versions.TLSv1.2'),
      { what: 'a connection with TLS 1.2', everyMs: 200 },
    )
    expect(found).toContain(`ciphers.${cipher}`)
    expect(found).toContain('curves.P-384')
    // A sidecar would refuse everything for a name that it does not know.
    expect(await mesh.problems()).toContainEqual(
      expect.objectContaining({ code: 'OSM_CONFIG_TLS_NAME', field: 'spec.sidecar.cipherSuites[1]' }),
    )
  })

  it('name a curve that the certificates are not on, with TLS 1.3', async () => {
    await mesh.apply('config.yaml', config({ ecdhCurves: ['P-521'] }))
    await eventually(
      async () => {
        expect((await get()).status).toBe(200)
        return agreed()
      },
      (all) => all.includes('curves.P-521'),
      { what: 'a connection by the other curve', everyMs: 200 },
    )
    expect(await mesh.problems()).toEqual([])
  })

  it('leave out lists by which sidecars could not agree, and say so', async () => {
    const before = await handshakes('versions.TLSv1.2')
    const lists = { ecdhCurves: ['P-384'], cipherSuites: ['ECDHE-RSA-AES128-GCM-SHA256'] }
    await mesh.apply('config.yaml', config({ tlsMaxProtocolVersion: 'TLSv1_2', ...lists }))
    // Had one of the lists been obeyed, there would be no such handshake, and 503 once connections from before have drained.
    await eventually(
      async () => {
        expect((await get()).status).toBe(200)
        return handshakes('versions.TLSv1.2')
      },
      (now) => now > before,
      { what: 'a connection with TLS 1.2', everyMs: 200 },
    )
    expect((await mesh.problems()).map(({ code, field }) => [code, field])).toEqual([
      ['OSM_CONFIG_TLS', 'spec.sidecar.ecdhCurves'],
      ['OSM_CONFIG_TLS', 'spec.sidecar.cipherSuites'],
    ])
  })

  it('refuse all traffic if the maximum TLS version is unsupported', async () => {
    await mesh.apply('config.yaml', config({ tlsMaxProtocolVersion: 'TLSv1_1' }))
    await eventually(get, ({ status }) => status === 503, { what: 'a refusal', everyMs: 200 })
    await mesh.apply('config.yaml', config({}))
    await eventually(get, ({ status }) => status === 200, { what: 'an answer', everyMs: 200 })
  })

  it('close connections on which nothing is said for the timeout of sidecars', async () => {
    await mesh.apply('config.yaml', config({ sidecarTimeout: 2 }))
    const connection = openTcp(mesh.tcpAddress('shop/client', 'echo_shop_9000'))
    expect(await connection.ask('hello', 20_000)).toBe('hello')
    // The usual timeout of 60 seconds would keep it for longer than this waits.
    await eventually(
      () => connection.ended(),
      (ended) => ended,
      { what: 'the end of the connection' },
    )
  })

  it('probe the proxies of called services, by the flag', async () => {
    const probes = (): Promise<ReadonlyMap<string, number>> =>
      counters('shop/client', String.raw`^cluster\.shop/store\|8080\.health_check\.(success|failure)`)
    expect([...(await probes())]).toEqual([])
    await mesh.apply('config.yaml', config({}, { enableSidecarActiveHealthChecks: true }))
    const found = await eventually(probes, (all) => all.has('cluster.shop/store|8080.health_check.success'), {
      what: 'a probe that succeeds',
    })
    expect([...found.keys()]).toEqual(['cluster.shop/store|8080.health_check.success'])
    expect((await get()).status).toBe(200)
  })

  it('report settings that the sidecar class does not support', async () => {
    const annotations = { 'openservicemesh.io/egress-gateway-mode': 'sock5' }
    await mesh.write('gateway.yaml', service('shop/gateway', 'none', 1080, { annotations }))
    const found = await eventually(
      () => mesh.problems(),
      (problems) => problems.length > 0,
      { what: 'a problem' },
    )
    expect(found).toEqual([
      expect.objectContaining({
        code: 'OSM_ADMISSION_CAPABILITY',
        severity: 'warning',
        object: expect.objectContaining({ kind: 'Service', name: 'gateway' }),
        field: 'metadata.annotations["openservicemesh.io/egress-gateway-mode"]',
        origin: expect.objectContaining({ kind: 'file', file: expect.stringContaining('gateway.yaml') }),
      }),
    ])
    expect((await get()).status).toBe(200)
  })
})
