import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'

import { afterEach, describe, expect, it } from '@jest/globals'
import type { KubernetesObject } from '@osm-ts/kubernetes'

import { forwardAddOn } from './forward-add-on.js'

const pod = (name: string, app: string, ready: boolean): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'osm-system', name, labels: { app }, resourceVersion: '1', uid: name },
  spec: { containers: [{ name: 'main', ports: [{ name: 'http', containerPort: 9090 }] }] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
})

describe('forwarding to an add-on', () => {
  let ending = new AbortController()
  afterEach(() => {
    ending.abort(new Error('the test is over'))
    ending = new AbortController()
  })

  function clusterOf(
    pods: readonly KubernetesObject[],
    connectToPod: Parameters<typeof forwardAddOn>[0]['connectToPod'],
  ) {
    const api = { list: async () => ({ items: pods, resourceVersion: '1' }) }
    return { api, connectToPod, osmNamespace: 'osm-system', signal: ending.signal } as unknown as Parameters<
      typeof forwardAddOn
    >[0]
  }

  it('passes bytes to the named port of the pod that is ready, and back', async () => {
    const echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
    await once(echo, 'listening')
    const asked: unknown[] = []
    const cluster = clusterOf(
      [pod('starting', 'osm-prometheus', false), pod('ready', 'osm-prometheus', true)],
      async ({ name }, port) => {
        asked.push([name, port])
        return connect((echo.address() as AddressInfo).port, '127.0.0.1')
      },
    )
    const { url, closed } = await forwardAddOn(cluster, 'prometheus', 0)
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.end('hello')
    const chunks: Buffer[] = []
    for await (const chunk of socket) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).toString()).toBe('hello')
    expect(asked).toEqual([['ready', 9090]])
    ending.abort(new Error('the test is over'))
    await closed
    echo.close()
  })

  it.each([
    ['is not installed', [], 'install it with --set osm.deployGrafana=true'],
    ['is not ready', [pod('starting', 'osm-grafana', false)], 'kubectl describe pods'],
  ])('is refused for one that %s', async (_case, pods, hint) => {
    const cluster = clusterOf(pods, () => Promise.reject(new Error('not reached')))
    await expect(forwardAddOn(cluster, 'grafana', 0)).rejects.toMatchObject({
      code: 'OSM_CLI_ADD_ON_MISSING',
      message: expect.stringContaining('no pod of osm-grafana is ready in namespace osm-system'),
    })
    await expect(forwardAddOn(cluster, 'grafana', 0)).rejects.toHaveProperty(
      'details.hint',
      expect.stringContaining(hint),
    )
  })
})
