import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'

import { FakeApiServer } from '../../test/fake-api-server.js'
import { openKubernetes } from '../connect.js'
import { resourceTypes } from '../resource-types.js'
import { InClusterAccess, isInCluster } from './in-cluster-access.js'

const environment = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
const { signal } = new AbortController()

let folder: string
let now = 0

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-service-account-'))
  await writeFile(join(folder, 'token'), 'first\n')
  await writeFile(join(folder, 'ca.crt'), 'root')
})

afterEach(() => rm(folder, { recursive: true }))

describe('access by the service account of a pod', () => {
  it('is there in a pod only', () => {
    expect(isInCluster(environment)).toBe(true)
    expect(isInCluster({})).toBe(false)
  })

  it.each([
    ['10.0.0.1', 'https://10.0.0.1:443'],
    ['fd00::1', 'https://[fd00::1]:443'],
  ])('finds the API server at %s', (host, server) => {
    expect(access(host).server).toBe(server)
  })

  it('reads the token again every minute, and at once when it is refused', async () => {
    const pod = access()
    expect(await pod.credentials(false)).toEqual({ headers: { authorization: 'Bearer first' }, tls: { ca: 'root' } })
    await writeFile(join(folder, 'token'), 'second')
    now += 59_000
    expect((await pod.credentials(false)).headers).toEqual({ authorization: 'Bearer first' })
    now += 1_000
    expect((await pod.credentials(false)).headers).toEqual({ authorization: 'Bearer second' })
    await writeFile(join(folder, 'token'), 'third')
    expect((await pod.credentials(true)).headers).toEqual({ authorization: 'Bearer third' })
  })

  it('says which file is missing', async () => {
    await rm(join(folder, 'token'))
    await expect(access().credentials(false)).rejects.toMatchObject({
      code: 'OSM_KUBERNETES_CREDENTIALS',
      message: expect.stringContaining(join(folder, 'token')),
    })
  })

  it('gets through a revoked token once the file holds a new one', async () => {
    const server = await FakeApiServer.start()
    server.token = 'first'
    const pod = access()
    const api = await openKubernetes(
      { server: server.url, credentials: (rejected) => pod.credentials(rejected) },
      'test',
    )
    await api.list(resourceTypes.Pod, {}, signal)
    server.token = 'second'
    await expect(api.list(resourceTypes.Pod, {}, signal)).rejects.toMatchObject({ status: 401 })
    await writeFile(join(folder, 'token'), 'second')
    expect((await api.list(resourceTypes.Pod, {}, signal)).items).toEqual([])
    await server.close()
  })
})

function access(host = environment.KUBERNETES_SERVICE_HOST): InClusterAccess {
  return new InClusterAccess({
    environment: { ...environment, KUBERNETES_SERVICE_HOST: host },
    monotonic: () => now,
    folder,
  })
}
