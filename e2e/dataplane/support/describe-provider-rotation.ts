import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { VaultStandIn } from '@osm-ts/vault/testing'
import { type TestMesh, startTestMesh } from './mesh.js'
import { shop } from './shop.js'
import { load, throughProxy } from './traffic.js'

interface Root {
  readonly authority: string
  readonly subject: string
  readonly signs: boolean
  readonly certificates: number
}

type Role = 'active' | 'passive'

/** Every certificate is replaced within 40 s of another root. */
const REPLACED_MS = 120_000
const BUILT_IN = 'tresor: { ca: { secretRef: { name: osm-ca-bundle, namespace: osm-system } } }'

/**
 * That no request is lost while another provider signs, with real sidecars of a class.
 *
 * @param goesBack - true: the former provider signs again at the end
 */
export function describeProviderRotation(sidecarClass: string, { goesBack }: { readonly goesBack: boolean }): void {
  describe(`a mesh of class ${sidecarClass} that moves from the built-in authority to Vault`, () => {
    let vault: VaultStandIn
    let mesh: TestMesh

    beforeAll(async () => {
      vault = await VaultStandIn.start()
      Object.assign(vault.appRole, { roleId: 'mesh', secretId: 'planted-secret-id' })
      mesh = await startTestMesh(shop(), { sidecarClass })
      await mesh.write('vault-secret.yaml', secret)
    })

    afterAll(async () => {
      await mesh.stop()
      await vault.stop()
    })

    const ask = () => throughProxy(mesh.proxyOf('shop/client'), 'http://store-v1.shop:8080/books/1')

    async function workloadRoots(): Promise<readonly Root[]> {
      const { trusted } = JSON.parse(await mesh.debug('/debug/certs')) as { readonly trusted: readonly Root[] }
      return trusted.filter(({ authority }) => authority === 'workload')
    }

    /** Writes both objects at once, as a user applies one file. */
    async function choose(roles: Readonly<Record<'builtIn' | 'vault', Role>>): Promise<void> {
      const { hostname, port } = new URL(vault.origin)
      const login = `auth: { kind: appRole, role: mesh }, token: { secretKeyRef: { name: vault, namespace: osm-system, key: secret-id } }`
      await mesh.write(
        'roots.yaml',
        root('built-in', roles.builtIn, BUILT_IN),
        root(
          'vault',
          roles.vault,
          `vault: { host: ${hostname}, port: ${port}, protocol: http, role: openservicemesh, ${login} }`,
        ),
      )
    }

    /** Waits until a root signs and has signed every certificate of a workload. */
    const allBy = (subject: string): Promise<readonly Root[]> =>
      eventually(
        workloadRoots,
        (roots) =>
          roots.every(
            (each) =>
              each.subject.includes(subject) === each.certificates > 0 && each.signs === each.subject.includes(subject),
          ),
        { timeoutMs: REPLACED_MS, what: `certificates of ${subject} alone` },
      )

    it('loses no request, with every certificate replaced', async () => {
      await eventually(ask, ({ status }) => status === 200)
      const stop = load(ask, 4)
      await choose({ builtIn: 'active', vault: 'passive' })
      await eventually(workloadRoots, (roots) => roots.length === 2, { what: 'trust in both roots' })
      expect((await workloadRoots())[0]).toMatchObject({
        signs: true,
        subject: expect.stringContaining('openservicemesh'),
      })
      await choose({ builtIn: 'passive', vault: 'active' })
      await allBy('CN=root')
      expect(await workloadRoots()).toHaveLength(2)
      if (goesBack) {
        await choose({ builtIn: 'active', vault: 'passive' })
        await allBy('openservicemesh')
      }
      const failures = await stop(500)
      expect(failures).toEqual([])
    })

    it('keeps its provider when two are active at once, and reports the conflict', async () => {
      await choose({ builtIn: 'active', vault: 'active' })
      const faults = async (): Promise<readonly { readonly code: string }[]> =>
        (
          JSON.parse(await mesh.debug('/debug/certs')) as {
            readonly provider: { readonly faults: readonly { code: string }[] }
          }
        ).provider.faults
      await eventually(faults, (found) => found.some(({ code }) => code === 'OSM_CERT_PROVIDER_SETTINGS'))
      expect((await workloadRoots())[0]?.subject).toContain(goesBack ? 'openservicemesh' : 'CN=root')
      expect((await ask()).status).toBe(200)
    })
  })
}

const secret = `apiVersion: v1
kind: Secret
metadata: { name: vault, namespace: osm-system }
stringData: { secret-id: planted-secret-id }
`

function root(name: string, role: Role, provider: string): string {
  return `apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshRootCertificate
metadata: { name: ${name}, namespace: osm-system }
spec: { role: ${role}, provider: { ${provider} } }
`
}
