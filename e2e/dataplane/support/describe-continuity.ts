import { connect as tlsConnect } from 'node:tls'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { issueLike } from './authority.js'
import { startTestMesh, type TestMesh } from './mesh.js'
import { shop, shopSplit } from './shop.js'
import { load, throughProxy } from './traffic.js'

const url = 'http://store.shop:8080/books/1?delay=20'

/**
 * That no request is lost while the controller is away, and while certificates are replaced, with real sidecars of a class.
 *
 * @param more - further tests of that mesh
 */
export function describeContinuity(sidecarClass: string, more: (mesh: () => TestMesh) => void = () => undefined): void {
  describe(`traffic continues while a mesh of class ${sidecarClass} changes`, () => {
    let mesh: TestMesh
    const ask = () => throughProxy(mesh.proxyOf('shop/client'), url)

    beforeAll(async () => {
      // Service certificates of 12 s are replaced every 6 to 9 s.
      const certificate = { serviceCertValidityDuration: '12s', certKeyBitSize: 2048 }
      mesh = await startTestMesh(shop({ certificate }), 'explicit', undefined, sidecarClass)
    }, 120_000)
    afterAll(async () => {
      await mesh.stop()
    }, 60_000)

    it('loses no request while the controller is killed and returns, and takes changes again', async () => {
      const stop = load(ask, 4)
      await mesh.restartController()
      await mesh.write('split.yaml', ...shopSplit({ 'store-v3': 1 }))
      await eventually(ask, ({ server }) => server === 'store-v3', { what: 'the effect of a change' })
      const { sent, failures } = await stop()
      expect(failures).toEqual([])
      expect(sent).toBeGreaterThan(50)
    }, 90_000)

    it('loses no request while service certificates are replaced', async () => {
      const first = await servedSerial(mesh)
      const stop = load(ask, 4)
      const another = (before: string): Promise<string> =>
        eventually(
          () => servedSerial(mesh),
          (serial) => serial !== before,
          { everyMs: 250, what: 'another certificate' },
        )
      await another(await another(first))
      const { sent, failures } = await stop()
      expect(failures).toEqual([])
      expect(sent).toBeGreaterThan(100)
    }, 90_000)

    more(() => mesh)
  })
}

/** Serial number of the certificate that the sidecar of store-v1 presents. */
async function servedSerial(mesh: TestMesh): Promise<string> {
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
