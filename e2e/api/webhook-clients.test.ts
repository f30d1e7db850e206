import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import { ClusterStandIn, InstalledMesh, clientPod, prepareImages, type Pod } from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const shop = 'known-shop'
const clientCaSecret = 'api-server-ca'

/** Asks a webhook as anybody can who reaches it; gives the status of its answer, or why there is none. */
function askAsStranger(host: string, port: number, path: string): Promise<string> {
  return new Promise((resolve) => {
    // Whether the server is who it says is not the question.
    const headers = { 'content-type': 'application/json' }
    const options = { host, port, path, method: 'POST', headers, rejectUnauthorized: false, agent: false }
    request(options, (response) => {
      response.resume()
      resolve(String(response.statusCode))
    })
      .on('error', (error) => resolve(error.message))
      .end('{}')
  })
}

describe('webhooks that ask the API server for a certificate', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  const webhooks = async (): Promise<readonly string[]> => {
    const [injector = ''] = await mesh.endpoints('osm-injector')
    const [validator = ''] = await mesh.endpoints('osm-validator')
    return Promise.all([
      askAsStranger(injector, 9090, '/mutate-pod-creation'),
      askAsStranger(validator, 9093, '/validate'),
    ])
  }

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    // The API server of the tests shows a certificate to the webhooks of the namespace known-system.
    mesh = await InstalledMesh.install({ server, cluster, name: 'known' })
    await mesh.createMonitoredNamespace(shop, ['client'])
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it('answer only the API server', async () => {
    // No review, but an answer.
    expect(await webhooks()).toEqual(['400', '400'])
    const metadata = { namespace: mesh.namespace, name: clientCaSecret }
    const data = { 'ca.crt': Buffer.from(server.webhookClientCaPem).toString('base64') }
    await server.api.create(resourceTypes.Secret, { apiVersion: 'v1', kind: 'Secret', metadata, data }, { signal })
    await mesh.helm('upgrade', { values: { webhookClientCaSecret: clientCaSecret } })
    await eventually(webhooks, (answers) => answers.every((answer) => /certificate|reset|hang up/i.test(answer)), {
      what: 'webhooks that refuse strangers',
    })
    const pod = await server.api.create(resourceTypes.Pod, clientPod({ namespace: shop, name: 'client' }), { signal })
    expect((pod as unknown as Pod).metadata.labels?.['osm-proxy-uuid']).toEqual(expect.any(String))
    const retry = {
      apiVersion: 'policy.openservicemesh.io/v1alpha1',
      kind: 'Retry',
      metadata: { namespace: shop, name: 'none' },
      spec: { source: { kind: 'ServiceAccount', name: 'client', namespace: shop }, destinations: [], retryPolicy: {} },
    }
    // Reviewed: by the validator where the definition lets it through, and in no case for lack of an answer.
    const answer = await server.api.create(resourceTypes.Retry, retry, { signal }).catch((error: unknown) => error)
    expect(String(answer)).not.toContain('failed calling webhook')
  })
})
