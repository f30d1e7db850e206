import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'

import { StatusCode } from '@osm-ts/envoy-api/envoy/type/v3/http_status_pb.js'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type AuthorizationService, startAuthorizationService } from './support/authorization-service.js'
import { startTestMesh, type TestMesh } from './support/mesh.js'
import { shop } from './support/shop.js'
import { type Answer, type RequestOptions, throughProxy } from './support/traffic.js'
import { meshConfig } from './support/yaml.js'

type Settings = Readonly<Record<string, unknown>>

const traffic = { enablePermissiveTrafficPolicyMode: false, enableEgress: false }

describe('a service that authorizes inbound requests', () => {
  let mesh: TestMesh
  let service: AuthorizationService

  const config = (more: Settings): string =>
    meshConfig({
      traffic: {
        ...traffic,
        // The machine may be slow; only the test of the timeout has one that passes.
        inboundExternalAuthorization: {
          enable: true,
          address: '127.0.0.1',
          port: service.port,
          timeout: '5s',
          ...more,
        },
      },
    })
  const ask = (path: string, options: RequestOptions = {}, from = 'shop/client'): Promise<Answer> =>
    throughProxy(mesh.proxyOf(from), `http://store-v1.shop:8080${path}`, { timeoutMs: 60_000, ...options })
  /** Headers that the workload got. */
  const seenBy = ({ body }: Answer): Readonly<Record<string, string>> =>
    (JSON.parse(body) as { readonly headers: Readonly<Record<string, string>> }).headers
  const becomes = (path: string, status: number): Promise<Answer> =>
    eventually(
      () => ask(path),
      (answer) => answer.status === status,
      { what: `${status} for ${path}` },
    )

  beforeAll(async () => {
    service = await startAuthorizationService()
    service.decideBy(() => ({ allow: true }))
    mesh = await startTestMesh({ ...shop(), 'config.yaml': [config({})] })
  })
  afterAll(async () => {
    await mesh.stop()
    service.stop()
  })
  beforeEach(() => service.decideBy(() => ({ allow: true })))

  it('is asked about each request that the rules allow, and told who sends it', async () => {
    await expect(ask('/books/asked?x=1', { headers: { 'x-mine': 'yes' } })).resolves.toMatchObject({
      status: 200,
      server: 'store-v1',
    })
    const about = service.asked.filter(({ path }) => path === '/books/asked?x=1')
    expect(about).toHaveLength(1)
    expect(about[0]).toMatchObject({
      method: 'GET',
      host: 'store-v1.shop:8080',
      headers: { 'x-mine': 'yes' },
      principal: 'spiffe://cluster.local/client/shop',
    })
  })

  it('is not called for requests that the rules refuse', async () => {
    await expect(ask('/secret')).resolves.toMatchObject({ status: 403 })
    await expect(ask('/buy', { method: 'POST' }, 'shop/thief')).resolves.toMatchObject({ status: 403 })
    expect(service.asked.filter(({ path }) => path === '/secret' || path === '/buy')).toEqual([])
  })

  it('gives the workload headers, in place of those of the caller, and takes some away', async () => {
    service.decideBy(() => ({ allow: true, set: { 'x-user': 'alice' }, remove: ['x-token'] }))
    const answer = await ask('/books/headers', {
      headers: { 'x-user': 'mallory', 'x-token': 'secret', 'x-other': 'stays' },
    })
    expect(answer.status).toBe(200)
    expect(seenBy(answer)).toMatchObject({ 'x-user': 'alice', 'x-other': 'stays' })
    expect(seenBy(answer)).not.toHaveProperty('x-token')
  })

  it('refuses with the status of its response, or else with 403', async () => {
    service.decideBy(({ path }) =>
      path === '/books/login'
        ? { allow: false, status: StatusCode.Unauthorized, body: 'who are you?' }
        : { allow: false },
    )
    await expect(ask('/books/login')).resolves.toMatchObject({ status: 401, body: 'who are you?' })
    await expect(ask('/books/any')).resolves.toMatchObject({ status: 403 })
  })

  it('refuses by silence, unless failures let requests in', async () => {
    service.decideBy(() => 'silence')
    await mesh.apply('config.yaml', config({ timeout: '200ms' }))
    // Requests that went out under the timeout before are still waited for.
    await becomes('/books/silent', 403)
    await mesh.apply('config.yaml', config({ timeout: '200ms', failureModeAllow: true }))
    await becomes('/books/silent', 200)
    service.decideBy(() => ({ allow: false }))
    await expect(ask('/books/denied')).resolves.toMatchObject({ status: 403 })
  })

  it('refuses requests while it does not respond, unless failures are configured to allow them', async () => {
    const gone = await startAuthorizationService()
    gone.stop()
    await mesh.apply('config.yaml', config({ port: gone.port }))
    await becomes('/books/gone', 403)
    await mesh.apply('config.yaml', config({ port: gone.port, failureModeAllow: true }))
    await becomes('/books/gone', 200)
    await mesh.apply('config.yaml', config({ address: '' }))
    await becomes('/books/nowhere', 403)
    expect(await mesh.problems()).toContainEqual(expect.objectContaining({ code: 'OSM_CONFIG_EXTERNAL_AUTHORIZATION' }))
  })

  it('is asked no more once it is turned off', async () => {
    service.decideBy(() => ({ allow: false }))
    await mesh.apply('config.yaml', config({}))
    await becomes('/books/on', 403)
    await mesh.apply('config.yaml', meshConfig({ traffic }))
    // Connections from before the change are asked about until they have drained.
    await eventually(
      async () => {
        const before = service.asked.length
        const { status } = await ask('/books/off')
        return [status, service.asked.length - before]
      },
      ([status, asked]) => status === 200 && asked === 0,
      { what: 'an answer without a question' },
    )
  })
})
