import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type TestMesh, programs, startTestMesh } from '../dataplane/support/mesh.js'
import { throughProxy } from '../dataplane/support/traffic.js'
import { account, meshConfig, service, workload } from '../dataplane/support/yaml.js'

describe('the remote log of a mesh of class pipy', () => {
  let mesh: TestMesh
  let collector: Server
  const posts: { readonly authorization: string | undefined; readonly body: string }[] = []

  const config = (authorization: string): string => {
    const { port } = collector.address() as AddressInfo
    const remoteLogging = { enable: true, address: '127.0.0.1', port, level: 2, authorization }
    return meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true }, observability: { remoteLogging } })
  }
  const get = () => throughProxy(mesh.proxyOf('shop/client'), 'http://server.shop:8080/')

  beforeAll(async () => {
    collector = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        posts.push({ authorization: request.headers.authorization, body: Buffer.concat(chunks).toString() })
        response.end()
      })
    })
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
    mesh = await startTestMesh(
      {
        'config.yaml': [config('Basic shibboleth-1')],
        'workloads.yaml': [
          account('shop/client'),
          account('shop/server'),
          service('shop/server', 'server', 8080),
          workload('shop/client', { program: programs.idle }),
          workload('shop/server', { program: programs.http, port: 8080 }),
        ],
      },
      { sidecarClass: 'pipy' },
    )
  })
  afterAll(async () => {
    collector.closeAllConnections()
    collector.close()
    await mesh.stop()
  })

  const shows = (authorization: string): Promise<unknown> =>
    eventually(
      async () => {
        await get()
        return posts.at(-1)?.authorization
      },
      (last) => last === authorization,
      { what: `a list that shows ${authorization}` },
    )

  it('goes to the collector with the header of the MeshConfig, also when that changes, and no one else sees it', async () => {
    await shows('Basic shibboleth-1')
    await mesh.write('config.yaml', config('Basic shibboleth-2'))
    await shows('Basic shibboleth-2')
    expect(posts.map(({ body }) => body).join('')).toContain('"type":"inbound"')
    const { uuid } = mesh.instance('shop/client')
    const pages = ['status', 'problems', 'config', `policy?uuid=${uuid}`, `pipy?uuid=${uuid}&cfg`]
    const shown = await Promise.all(pages.map((page) => mesh.debug(`/debug/${page}`)))
    // The policy names the credential, so that what is looked through is the right thing.
    expect(shown[4]).toContain('egress/remote-logging')
    for (const text of [...shown, JSON.stringify(mesh.events)]) expect(text).not.toContain('shibboleth')
  })
})
