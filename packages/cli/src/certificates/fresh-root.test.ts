import { X509Certificate } from 'node:crypto'

import { describe, expect, it } from '@jest/globals'
import type { KubernetesApi, KubernetesManifest, ObjectName } from '@osm-ts/kubernetes'

import { makeFreshRoot } from './fresh-root.js'
import { listRootObjects, type RootObject, type RootRole } from './root-objects.js'

const signal = new AbortController().signal

describe('a fresh root', () => {
  const root = (role: RootRole, secret: string): RootObject => ({ name: secret, role, trustDomain: 'mesh', secret })

  async function make(roots: readonly RootObject[], deleted: string[] = []) {
    const created: KubernetesManifest[] = []
    const api = {
      create: async (_type: unknown, manifest: KubernetesManifest) => created.push(manifest),
      delete: async (_type: unknown, { name }: ObjectName) => deleted.push(name),
    } as unknown as KubernetesApi // nothing else of it is called
    const flags = { 'ca-bundle-secret-name': 'ca' }
    const name = await makeFreshRoot({ api, signal }, { namespace: 'osm-system', meshName: 'osm', flags }, roots)
    return { name, created, deleted }
  }

  it('lies in the Secret that no MeshRootCertificate uses, and is passive', async () => {
    const { name, created, deleted } = await make([root('active', 'ca')])
    expect(deleted).toEqual(['ca-next'])
    const [secret, object] = created
    expect(secret).toMatchObject({ kind: 'Secret', metadata: { name: 'ca-next' }, immutable: true })
    const { 'ca.crt': certificate = '' } = secret?.['data'] as Readonly<Record<string, string>> // as it is made
    expect(new X509Certificate(Buffer.from(certificate, 'base64')).ca).toBe(true)
    expect(object).toMatchObject({
      kind: 'MeshRootCertificate',
      metadata: { name },
      spec: {
        role: 'passive',
        trustDomain: 'mesh',
        provider: { tresor: { ca: { secretRef: { name: 'ca-next', namespace: 'osm-system' } } } },
      },
    })
    expect(name).toMatch(/^ca-next-[0-9a-f]{8}$/)
  })

  it('takes the place of one that no object names any more, and of no other', async () => {
    expect((await make([root('active', 'ca-next')])).deleted).toEqual(['ca'])
    await expect(make([root('active', 'ca-next'), root('passive', 'ca')])).rejects.toMatchObject({
      code: 'OSM_CLI_ROTATION',
      message: expect.stringContaining('are both in use'),
    })
  })

  it('does not take the place of one that an inactive object names, which could sign again', async () => {
    const deleted: string[] = []
    await expect(make([root('active', 'ca-next'), root('inactive', 'ca')], deleted)).rejects.toMatchObject({
      code: 'OSM_CLI_ROTATION',
      message: expect.stringContaining('MeshRootCertificate ca is inactive and names Secret ca'),
    })
    expect(deleted).toEqual([])
    // An inactive object beside a passive one with the same Secret is not what is in the way.
    await expect(
      make([root('active', 'ca-next'), root('passive', 'ca'), root('inactive', 'ca')]),
    ).rejects.toMatchObject({ message: expect.stringContaining('are both in use') })
  })
})

describe('reading MeshRootCertificates', () => {
  it('leaves out conditions about an earlier version of an object', async () => {
    const condition = { type: 'Trusted', status: 'True', reason: 'Confirmed', message: 'm', observedGeneration: 1 }
    const object = (generation: number): object => ({
      metadata: { name: 'a', generation },
      spec: { provider: { tresor: { ca: { secretRef: { name: 's', namespace: 'n' } } } } },
      status: { state: 'passive', conditions: [condition] },
    })
    const api = {
      list: async () => ({ resourceVersion: '1', items: [object(1), object(2)] }),
    } as unknown as KubernetesApi // nothing else of it is called
    const [now, changed] = await listRootObjects({ api, signal }, 'osm-system')
    expect(now).toEqual({
      name: 'a',
      role: 'active',
      trustDomain: undefined,
      secret: 's',
      state: 'passive',
      trusted: { isTrue: true, reason: 'Confirmed', message: 'm' },
    })
    expect(changed).not.toHaveProperty('trusted')
  })
})
