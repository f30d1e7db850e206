import { createPublicKey, type KeyObject } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ProxyUUID } from '@osm-ts/driver-api'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { issueLike } from './authority.js'
import { type LoadedClass, programs, startTestMesh, type TestMesh } from './mesh.js'
import { servedCertificate } from './served-certificate.js'
import { shop } from './shop.js'
import { load as startLoad, throughProxy } from './traffic.js'
import { account, service, workload as workloadObject } from './yaml.js'

/** Against hanging only: a poll may wait for 25 s. */
const TIMEOUT_MS = 120_000
const STORE = 'shop/store-v1'

/**
 * That chains are for the keys that sidecars of a class have in files, also when a key is replaced.
 *
 * @param load - makes the package of a class that is not part of the control plane, in a folder
 */
export function describeOwnKeys(sidecarClass: string, load?: (folder: string) => Promise<LoadedClass>): void {
  describe(`a mesh of class ${sidecarClass} whose proxies have certificates for their own keys`, () => {
    let folder: string
    let mesh: TestMesh

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'osm-own-keys-'))
      const files = shop({ certificate: { serviceCertificates: 'perProxy' } })
      mesh = await startTestMesh(files, { sidecarClass, loaded: await load?.(folder) })
    }, TIMEOUT_MS)
    afterAll(async () => {
      await mesh.stop()
      await rm(folder, { recursive: true, force: true })
    }, TIMEOUT_MS)

    const ask = () => throughProxy(mesh.proxyOf('shop/client'), 'http://store-v1.shop:8080/books/1')

    /** Folder with the files of a sidecar. */
    function homeOf(workload: string): string {
      const { name } = mesh.instance(workload)
      const file = readdirSync(mesh.stateFolder, { recursive: true, encoding: 'utf8' }).find(
        (path) => path.endsWith('/sidecar.key') && path.includes(name),
      )
      if (file === undefined) throw new Error(`the sidecar of ${workload} has no key file`)
      return join(mesh.stateFolder, file, '..')
    }

    const keyOf = (workload: string): KeyObject =>
      createPublicKey(readFileSync(join(homeOf(workload), 'sidecar.key'), 'utf8'))

    /** DER of the public key that the sidecar of the store proves to its callers. */
    const servedKey = async (): Promise<Buffer> =>
      (await servedCertificate(mesh, STORE)).publicKey.export({ type: 'spki', format: 'der' })

    const servesItsKey = async (): Promise<boolean> =>
      keyOf(STORE)
        .export({ type: 'spki', format: 'der' })
        .equals(await servedKey())

    it('carries requests under chains for the keys in the files of the sidecars', async () => {
      await eventually(ask, ({ status }) => status === 200)
      expect(await servesItsKey()).toBe(true)
      expect((await mesh.status(STORE)).conditions).toEqual([])
    })

    it(
      'gives a sidecar whose key was replaced a chain for the new one, and loses no request',
      async () => {
        const stop = startLoad(ask, 2)
        const { uuid } = mesh.instance(STORE)
        const serviceAccount = { namespace: 'shop', name: 'store-v1' }
        const subject = { kind: 'proxy', uuid: uuid as ProxyUUID, serviceAccount } as const
        const { certificate } = await issueLike(mesh.stateFolder, subject)
        for (const [file, content] of [
          ['sidecar.key', certificate.privateKey()],
          ['sidecar.crt', certificate.chain],
        ] as const) {
          const path = join(homeOf(STORE), file)
          writeFileSync(`${path}.new`, content, { mode: 0o600 })
          renameSync(`${path}.new`, path)
        }
        expect(await servesItsKey()).toBe(false)
        // Ends the poll that waits under the former certificate.
        await mesh.write(
          'later.yaml',
          account('shop/later'),
          workloadObject('shop/later', { program: programs.http, port: 8080, app: 'later' }),
          service('shop/later', 'store-v1', 8080),
        )
        await eventually(servesItsKey, (isNew) => isNew, { what: 'a chain for the new key', timeoutMs: TIMEOUT_MS / 2 })
        await mesh.settled()
        const failures = await stop(20)
        expect(failures).toEqual([])
      },
      TIMEOUT_MS,
    )
  })
}
