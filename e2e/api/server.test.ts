import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connectKubernetes, type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import { programsFrom, sharedApiServer, startApiServer, type ApiServer, type OwnApiServer } from './harness/index.js'

const signal = AbortSignal.timeout(120_000)

describe('the API server of the tests', () => {
  let server: ApiServer
  let account: KubernetesApi
  const namespace = 'server-test'

  beforeAll(async () => {
    server = await sharedApiServer()
    const metadata = { name: namespace }
    await server.api.create(resourceTypes.Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata }, { signal })
    await server.api.create(
      resourceTypes.ServiceAccount,
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'nobody', namespace } },
      { signal },
    )
    const kubeconfig = await server.kubeconfigFor({ namespace, name: 'nobody' })
    account = await connectKubernetes({ kubeconfig, userAgent: 'server-test' })
  })

  it('tells the version that clients choose features by', async () => {
    await expect(server.api.read('/version', signal)).resolves.toMatchObject({ major: '1', minor: '34' })
  })

  it('listens on its own address that is not loopback', () => {
    expect(server.address).not.toMatch(/^127\./)
    expect(server.url).toContain(server.address)
  })

  it('lets service accounts do what roles allow them, and notes what they did', async () => {
    await expect(account.list(resourceTypes.Secret, { namespace }, signal)).rejects.toMatchObject({ status: 403 })
    const username = `system:serviceaccount:${namespace}:nobody`
    const events = await server.auditEvents((event) => event.user.username === username)
    expect(events).toContainEqual(
      expect.objectContaining({
        verb: 'list',
        userAgent: 'server-test',
        objectRef: expect.objectContaining({ resource: 'secrets', namespace }),
        responseStatus: expect.objectContaining({ code: 403 }),
      }),
    )
  })
})

describe('an API server of a test', () => {
  let own: OwnApiServer

  beforeAll(async () => {
    own = await startApiServer(programsFrom(process.env), signal)
  })

  afterAll(() => own.stop())

  it('keeps what it stored when it is killed, and answers again after a pause', async () => {
    const { api } = own.client
    const metadata = { name: 'survivor', namespace: 'default' }
    await api.create(resourceTypes.ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata }, { signal })
    await own.restart(signal)
    await expect(api.get(resourceTypes.ConfigMap, metadata, signal)).resolves.toMatchObject({ metadata })

    await own.pause()
    await expect(api.get(resourceTypes.ConfigMap, metadata, AbortSignal.timeout(300))).rejects.toThrow()
    own.resume()
    await expect(api.get(resourceTypes.ConfigMap, metadata, signal)).resolves.toMatchObject({ metadata })
  })
})
