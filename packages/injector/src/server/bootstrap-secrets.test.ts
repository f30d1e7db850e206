import { describe, expect, it } from '@jest/globals'
import { KubernetesError, type KubernetesErrorFacts, type KubernetesManifest } from '@osm-ts/kubernetes'
import { OsmError } from '@osm-ts/driver-api'

import { BootstrapSecrets } from './bootstrap-secrets.js'

const { signal } = new AbortController()
const secret: KubernetesManifest = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'shop', name: 'boot' } }

/** Bootstrap Secrets at an API server that answers 403 to every write. */
function forbidden(forbiddenBy?: NonNullable<KubernetesErrorFacts['forbiddenBy']>): BootstrapSecrets {
  const error = new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'create Secret shop/boot: 403 Forbidden', {
    status: 403,
    reason: 'Forbidden',
    ...(forbiddenBy === undefined ? {} : { forbiddenBy }),
  })
  const fail = (): Promise<never> => Promise.reject(error)
  return new BootstrapSecrets({ create: fail, replace: fail } as never, 'osm', { spend: () => undefined })
}

describe('a Secret that may not be written', () => {
  it.each([false, true])('points at the RoleBinding where there is no right to it (again: %s)', async (again) => {
    await expect(forbidden('rbac').store(secret, again, signal)).rejects.toMatchObject({
      code: 'OSM_INJECT_SECRET_FORBIDDEN',
      message: expect.stringContaining('RoleBinding osm-osm-bootstrap-secrets is missing'),
    })
  })

  it.each(['quota', 'terminating', undefined] as const)(
    'does not where it is something else: %s',
    async (forbiddenBy) => {
      await expect(forbidden(forbiddenBy).store(secret, false, signal)).rejects.toMatchObject({
        code: 'OSM_INJECT_SECRET',
        message: 'Secret shop/boot of the sidecar was not stored: create Secret shop/boot: 403 Forbidden',
      })
    },
  )
})

describe('a Secret beyond the budget', () => {
  it('is not written, unless it takes the place of one', async () => {
    const written: string[] = []
    const write = (verb: string) => (): Promise<unknown> => Promise.resolve(written.push(verb))
    const spend = (): never => {
      throw new OsmError('OSM_INJECT_RATE', 'too many')
    }
    const api = { create: write('create'), replace: write('replace') } as never
    const secrets = new BootstrapSecrets(api, 'osm', { spend })
    await expect(secrets.store(secret, false, signal)).rejects.toMatchObject({ code: 'OSM_INJECT_RATE' })
    await secrets.store(secret, true, signal)
    expect(written).toEqual(['replace'])
  })
})
