import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { startTestMesh, type TestMesh } from './mesh.js'
import { servedCertificate } from './served-certificate.js'
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
      mesh = await startTestMesh(shop({ certificate }), { sidecarClass })
    }, 120_000)
    afterAll(async () => {
      await mesh.stop()
    }, 60_000)

    it('loses no request while the controller is killed and returns, and takes changes again', async () => {
      const stop = load(ask, 4)
      await mesh.restartController()
      await mesh.write('split.yaml', ...shopSplit({ 'store-v3': 1 }))
      await eventually(ask, ({ server }) => server === 'store-v3', { what: 'the effect of a change' })
      const failures = await stop(50)
      expect(failures).toEqual([])
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
      const failures = await stop(100)
      expect(failures).toEqual([])
    }, 90_000)

    more(() => mesh)
  })
}

/** Serial number of the certificate that the sidecar of store-v1 presents. */
async function servedSerial(mesh: TestMesh): Promise<string> {
  return (await servedCertificate(mesh, 'shop/store-v1')).serialNumber
}
