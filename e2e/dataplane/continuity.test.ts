import { readFile } from 'node:fs/promises'
import { connect as tlsConnect } from 'node:tls'

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { ProxyPolicy } from '@osm-ts/driver-api'

import { issueLike } from './support/authority.js'
import { type TestMesh, startTestMesh } from './support/mesh.js'
import { shop, shopSplit } from './support/shop.js'
import { load, throughProxy } from './support/traffic.js'
import { eventually } from './support/wait.js'

const url = 'http://store.shop:8080/books/1?delay=20'

jest.setTimeout(60_000)

describe('traffic goes on while the mesh changes', () => {
  let mesh: TestMesh
  const ask = () => throughProxy(mesh.proxyOf('shop/client'), url)

  beforeAll(async () => {
    // Service certificates of 12 s are replaced every 6 to 9 s.
    mesh = await startTestMesh(shop({ certificate: { serviceCertValidityDuration: '12s', certKeyBitSize: 2048 } }))
  }, 120_000)
  afterAll(async () => {
    await mesh.stop()
  }, 60_000)

  it('loses no request while the controller is killed and comes back, and takes changes again', async () => {
    const stop = load(ask, 4)
    const killed = mesh.mesh.controllerPid()
    if (killed === undefined) throw new Error('no controller runs')
    process.kill(killed, 'SIGKILL')
    await eventually(
      () => mesh.mesh.controllerPid(),
      (pid) => pid !== undefined && pid !== killed,
      { what: 'a new controller' },
    )
    await eventually(
      () => mesh.statuses().catch(() => []),
      (all) => all.length > 0 && all.every(({ state }) => state === 'applied'),
      {
        timeoutMs: 30_000,
        what: 'that every proxy is back',
      },
    )
    await mesh.write('split.yaml', ...shopSplit({ 'store-v3': 1 }))
    await eventually(ask, ({ server }) => server === 'store-v3', { what: 'the effect of a change' })
    const { sent, failures } = await stop()
    expect(failures).toEqual([])
    expect(sent).toBeGreaterThan(50)
  }, 90_000)

  it('loses no request while service certificates are replaced', async () => {
    const first = await servedSerial()
    const stop = load(ask, 4)
    await eventually(servedSerial, (serial) => serial !== first, {
      timeoutMs: 30_000,
      everyMs: 250,
      what: 'a new certificate',
    })
    const second = await servedSerial()
    await eventually(servedSerial, (serial) => serial !== second, {
      timeoutMs: 30_000,
      everyMs: 250,
      what: 'another new certificate',
    })
    const { sent, failures } = await stop()
    expect(failures).toEqual([])
    expect(sent).toBeGreaterThan(100)
  }, 90_000)

  it('keeps private keys out of every debug page and log', async () => {
    const pages = (await mesh.debug('/debug')).split('\n').filter((path) => path.startsWith('/debug/'))
    expect(pages.length).toBeGreaterThan(5)
    const { uuid } = mesh.instance('shop/store-v1')
    const key =
      (await readFile(`${mesh.stateFolder}/ca/workload/key.pem`, 'utf8').catch(() => '')).split('\n')[1] ??
      'PRIVATE KEY'
    for (const page of pages) {
      const text = await mesh.debug(`${page}?uuid=${uuid}&cfg=true`).catch((error: unknown) => String(error))
      expect(text).not.toContain('PRIVATE KEY')
      expect(text).not.toContain(key)
    }
    const lines = mesh.events.flatMap((event) =>
      event.type === 'output' ? [event.line] : 'detail' in event ? [event.detail ?? ''] : [],
    )
    expect(lines.filter((line) => line.includes('PRIVATE KEY'))).toEqual([])
  })

  /** Serial number of the certificate that the sidecar of store-v1 presents. */
  async function servedSerial(): Promise<string> {
    const policy = JSON.parse(
      await mesh.debug(`/debug/policy?uuid=${mesh.instance('shop/store-v1').uuid}`),
    ) as ProxyPolicy
    const listen = policy.proxy.inbound.find(({ id }) => id.startsWith('shop/store-v1|'))?.listen
    if (listen === undefined) throw new Error('store-v1 has no inbound listener')
    const { certificate, workloadRoot } = await issueLike(mesh.stateFolder, {
      kind: 'service',
      serviceAccount: { namespace: 'shop', name: 'client' },
      services: [],
    })
    return new Promise((resolve, reject) => {
      const socket = tlsConnect(
        {
          host: listen.address,
          port: listen.port,
          servername: 'store-v1.shop.svc.cluster.local',
          ca: workloadRoot,
          cert: certificate.chain,
          key: certificate.privateKey(),
          checkServerIdentity: () => undefined,
        },
        () => {
          resolve(socket.getPeerCertificate().serialNumber)
          socket.destroy()
        },
      )
      socket.on('error', reject)
    })
  }
})
