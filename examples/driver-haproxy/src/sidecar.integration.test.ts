import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hashPart } from '@osm-ts/driver-api/policy'
import { called, callers, everybody, plainMesh, served, type TestPolicy, together } from '@osm-ts/driver-testkit'

import { handshake, KeptConnection } from '../test/handshake.js'
import { ask, freePort, MeshFixture, type Sidecar, TELLS_HEADERS, until } from '../test/mesh.js'

const buyer = callers('buyer.default.cluster.local')

describe('two sidecars with a real HAProxy', () => {
  const fixture = new MeshFixture()
  let client: Sidecar
  let server: Sidecar
  let http = 0
  let tcp = 0
  let inbound = { shop: 0, db: 0 }
  let serves: TestPolicy
  let calls: TestPolicy

  beforeAll(async () => {
    await fixture.start()
    http = await freePort()
    tcp = await freePort()
    inbound = { shop: await freePort(), db: await freePort() }
    fixture.certify('buyer')
    fixture.certify('shop', ['shop', 'db'])
    client = await fixture.sidecar('buyer')
    server = await fixture.sidecar('shop')
    serves = together(
      served('shop', inbound.shop, await fixture.application('shop'), [
        { match: { path: { type: 'prefix', value: '/open' }, methods: ['GET'] }, allow: buyer },
        { match: { path: { type: 'regex', value: '/(a|b.*z)' } }, allow: everybody },
        { match: { path: { type: 'regex', value: '/v\\d+/[^/]+/x.z' } }, allow: everybody },
        { match: { path: { type: 'regex', value: '/w[a-z/]*y[a-z/]{3}' } }, allow: everybody },
        { match: { headers: [{ name: 'x-key', match: { type: 'exact', value: `it's $1 "x"` } }] }, allow: buyer },
        {
          match: {
            path: { type: 'exact', value: TELLS_HEADERS },
            headers: [
              { name: 'x-user-role', match: { type: 'exact', value: 'reader' } },
              { name: 'x_app_id', match: { type: 'exact', value: 'shop' } },
            ],
          },
          allow: buyer,
        },
        {
          match: {
            path: { type: 'exact', value: '/claim' },
            headers: [{ name: 'serviceidentity', match: { type: 'exact', value: 'admin' } }],
          },
          allow: buyer,
        },
        { match: { path: { type: 'exact', value: '/thief' } }, allow: callers('thief.default.cluster.local') },
      ]),
      served('db', inbound.db, await fixture.echo('db'), buyer, { protocol: 'tcp-server-first' }),
    )
    calls = called(
      [
        {
          name: 'db',
          endpoints: [inbound.db],
          outbound: {
            protocol: 'tcp-server-first',
            rules: { kind: 'tcp', targets: [{ upstream: 'default/db|8080', weight: 1 }] },
          },
          upstream: { protocol: 'tcp-server-first' },
        },
        { name: 'shop', endpoints: [inbound.shop] },
        // Workloads of another service are there: its name is not in their certificate.
        { name: 'wrong', endpoints: [inbound.shop] },
      ],
      {
        listen: { outboundHttp: { address: '127.0.0.1', port: http } },
        outboundBindings: [{ id: 'default/db|80', listen: { address: '127.0.0.1', port: tcp } }],
      },
    )
    await Promise.all([fixture.apply(server, 'shop', serves), fixture.apply(client, 'buyer', calls)])
  })
  afterAll(async () => fixture.stop())

  it.each([
    ['/open', 200],
    ['/open/x?y=1', 200],
    ['//open//x', 200],
    ['/a', 200],
    ['/b-z', 200],
    ['/bz/z', 200],
    ['/b', 403],
    ['/v12/of/x.z', 200],
    ['/v12/%c3%a9/x-z', 200],
    ['/v/of/x.z', 403],
    ['/v1/of/o/x.z', 403],
    ['/v1/of/xz', 403],
    [`/v1/${'of'.repeat(3_000)}/x.zz`, 403],
    ['/wayyyyabc', 200],
    [`/w${'y'.repeat(6_000)}-`, 403],
    ['/thief', 403],
    ['/other', 403],
    ['/open/../other', 400],
    ['/open/%2e%2E/other', 400],
    ['/open/..;a/other', 400],
    ['/open%2fx', 400],
    ['/open%00', 400],
    ['/open%5cx', 400],
    ['/open\\x', 400],
    ['/open/%ff', 400],
    ['/open/%c3%a9', 200],
    ['/open/%zz', 400],
    ['//', 400],
  ])('%j is answered %d', async (path, status) => {
    expect(await ask(http, 'shop.default', path)).toMatchObject({ status })
  })

  it('let no header in under a spelling that no rule has looked at, and none that claims an identity', async () => {
    const meets = { 'x-user-role': 'reader', x_app_id: 'shop' }
    const status = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await ask(http, 'shop.default', path, { headers })).status
    expect(await status(TELLS_HEADERS, { x_user_role: 'reader', x_app_id: 'shop' })).toBe(403)
    expect(await status('/claim', { serviceidentity: 'admin' })).toBe(403)
    const sent = {
      ...meets,
      x_user_role: 'admin',
      'x_user-role': 'admin',
      'x-app-id': 'other',
      x_trace_id: '1',
      'x-forwarded-client-cert': 'URI=admin',
      x_forwarded_client_cert: 'URI=admin',
      'x_forwarded-client-cert': 'URI=admin',
      serviceidentity: 'admin',
      'x-envoy-upstream-rq-timeout-ms': '1',
      x_envoy_retry_on: '5xx',
    }
    const { body } = await ask(http, 'shop.default', TELLS_HEADERS, { headers: sent })
    const seen = Object.entries(JSON.parse(body) as Record<string, string>).filter(([name]) =>
      Object.hasOwn(sent, name),
    )
    expect(Object.fromEntries(seen)).toEqual({ ...meets, x_trace_id: '1' })
  })

  it.each([
    ['websocket', true],
    ['SPDY/3.1', true],
    ['h2c', false],
    ['websocket, h2c', false],
    ['TLS/1.2', false],
  ])('let a caller ask to switch to %s: %s', async (upgrade, isKept) => {
    const asked = { connection: 'upgrade', upgrade, 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
    const headers = { 'x-user-role': 'reader', x_app_id: 'shop', ...asked }
    const { status, body } = await ask(http, 'shop.default', TELLS_HEADERS, { headers })
    expect(status).toBe(200)
    expect((JSON.parse(body) as Record<string, string>).upgrade).toBe(isKept ? upgrade : undefined)
  })

  it('answer 400 to paths with bytes that are not ASCII', async () => {
    const { chain, privateKey } = fixture.certify('buyer')
    const name = 'shop.default.svc.cluster.local'
    for (const path of ['/open/\xff', '/open/\xc0\xae\xc0\xae/other', '/open/caf\xe9', '/open/\xc3\xa9'])
      expect([path, await handshake(inbound.shop, name, chain, privateKey, path)]).toEqual([
        path,
        expect.stringMatching(/^HTTP\/1\.1 400 /),
      ])
  })

  it('are not kept busy by long paths', async () => {
    const long = `/open/${'%c3%a9'.repeat(1_500)}`
    expect(await ask(http, 'shop.default', long)).toMatchObject({ status: 200 })
    expect(await ask(http, 'shop.default', `${long}%c3`)).toMatchObject({ status: 400 })
  })

  it('forward the path that was matched, and take whole addresses', async () => {
    expect(await ask(http, 'shop.default', '//open//x?y=//')).toMatchObject({ status: 200, body: 'shop /open/x?y=//' })
    expect(await ask(http, 'shop.default', 'http://shop.default/open?z')).toMatchObject({
      status: 200,
      body: 'shop /open?z',
    })
    expect(await ask(http, 'shop.default:80', '/open')).toMatchObject({ status: 200 })
  })

  it('tell the setting where they refuse an escaped slash', async () => {
    expect((await ask(http, 'shop.default', '/open%2fx')).body).toContain('spec.traffic.escapedSlashes')
  })

  it('let in an escaped slash where it is kept and the rule allows every reading of the path', async () => {
    const mesh = { ...plainMesh, keepsEscapedSlashes: true } as const
    const keeping = ({ changes, parts }: TestPolicy): TestPolicy => ({
      changes: { ...changes, mesh: hashPart(mesh) },
      parts: [...parts, mesh],
    })
    await Promise.all([fixture.apply(server, 'shop', keeping(serves)), fixture.apply(client, 'buyer', keeping(calls))])
    // An existing connection gets one more answer.
    const kept = '/open/a%2Fb%5Cc?d=%2f'
    await until(
      () => `no 200 for ${kept}`,
      async () => (await ask(http, 'shop.default', kept)).status === 200,
    )
    const answers = new Map<string, number>()
    for (const path of [kept, '/open%2F/x', '/b%2Fz', '/v1/a%2Fb/x-z', '/open/..%2fother', '/open%5c%2e%2e/x'])
      answers.set(path, (await ask(http, 'shop.default', path)).status)
    await Promise.all([fixture.apply(server, 'shop', serves), fixture.apply(client, 'buyer', calls)])
    expect(Object.fromEntries(answers)).toEqual({
      [kept]: 200,
      '/open%2F/x': 200,
      '/b%2Fz': 200,
      '/v1/a%2Fb/x-z': 403,
      '/open/..%2fother': 400,
      '/open%5c%2e%2e/x': 400,
    })
  })

  it('match headers to the letter, and none that comes twice', async () => {
    const value = `it's $1 "x"`
    expect(await ask(http, 'shop.default', '/x', { headers: { 'x-key': value } })).toMatchObject({ status: 200 })
    expect(await ask(http, 'shop.default', '/x', { headers: { 'x-key': `${value}!` } })).toMatchObject({ status: 403 })
    const twice = { 'x-key': [value, value] } as unknown as Record<string, string>
    expect(await ask(http, 'shop.default', '/x', { headers: twice })).toMatchObject({ status: 403 })
  })

  it('refuse other methods, unknown hosts, and servers under another name', async () => {
    expect(await ask(http, 'shop.default', '/open', { method: 'POST' })).toMatchObject({ status: 403 })
    expect(await ask(http, 'unknown.default', '/open')).toMatchObject({ status: 403 })
    expect(await ask(http, 'wrong.default', '/open')).toMatchObject({ status: 503 })
  })

  it('carry TCP, the server first', async () => {
    expect(await exchange(tcp, 'hello')).toBe('db\nhello')
  })

  it('take no one without a certificate of the mesh, and no other name', async () => {
    const { chain, privateKey } = fixture.host.controlPlane.issue('buyer.default.cluster.local')
    const good = fixture.certify('buyer')
    const name = 'shop.default.svc.cluster.local'
    expect(await handshake(inbound.shop, name)).toBe('')
    expect(await handshake(inbound.shop, name, chain, privateKey)).toBe('')
    expect(await handshake(inbound.shop, 'other.default.svc.cluster.local', good.chain, good.privateKey)).toBe('')
    expect(await handshake(inbound.shop, name, good.chain, good.privateKey)).toMatch(/^HTTP\/1.1 200/)
  })

  it('show metrics, and that they are ready', async () => {
    expect(await ask(client.admin, 'x', '/ready')).toMatchObject({ status: 200, body: 'ready' })
    const { body } = await ask(client.admin, 'x', '/stats/prometheus')
    expect(body).toMatch(/haproxy_backend_http_requests_total\{proxy="up:default:shop_7c_8080"\} [1-9]/)
  })

  it('take new certificates while they run', async () => {
    const before = await Promise.all([client.worker(), server.worker()])
    const { serialNumber } = fixture.certify('shop', ['shop', 'db'])
    fixture.certify('buyer')
    const shown = () => certificateOf(inbound.shop, fixture)
    await until(
      () => 'the new certificate',
      async () => (await shown()) === serialNumber,
    )
    expect(await ask(http, 'shop.default', '/open')).toMatchObject({ status: 200 })
    expect(await Promise.all([client.worker(), server.worker()])).toEqual(before)
  })

  it('keep what they have when they are told what they cannot do, and continue after it', async () => {
    const taken = await fixture.echo('taken')
    const port = { outboundBindings: [{ id: 'default/db|80', listen: { address: '127.0.0.1', port: taken } }] }
    const revision = fixture.publish(client, 'buyer', { ...calls, changes: { ...calls.changes, ...port } })
    await until(
      () => client.said(),
      () => fixture.host.reports.some((report) => report.revision === revision && !report.complete),
    )
    expect(await ask(http, 'shop.default', '/open')).toMatchObject({ status: 200 })
    await fixture.apply(client, 'buyer', calls)
    expect(await ask(http, 'shop.default', '/open')).toMatchObject({ status: 200 })
  })

  it('answer once more on connections that stayed open over a reload, and say that it is the last answer', async () => {
    const { chain, privateKey } = fixture.certify('buyer')
    const kept = new KeptConnection(inbound.shop, 'shop.default.svc.cluster.local', chain, privateKey)
    expect(await kept.ask('/open', 'shop /open')).toMatch(/^HTTP\/1.1 200 (?!.*connection: close)/s)
    const worker = await server.worker()
    const other = served('other', await freePort(), 1, [{ allow: buyer }])
    await fixture.apply(server, 'shop', together(serves, other))
    expect(await server.worker()).not.toBe(worker)
    expect(await kept.ask('/open', 'shop /open')).toMatch(/^HTTP\/1.1 200 .*connection: close/s)
    await kept.closed()
    await fixture.apply(server, 'shop', serves)
  })

  it('close what a withdrawn rule let in', async () => {
    const socket = connect(tcp, '127.0.0.1')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => socket.once('data', resolve))
    const [shop, db] = serves.changes.inbound!
    const nobody = served('db', inbound.db, db!.local.port, callers('thief.default.cluster.local'))
    const without = {
      changes: { inbound: [shop!, ...nobody.changes.inbound!] },
      parts: [...serves.parts, ...nobody.parts],
    }
    await fixture.apply(server, 'shop', without)
    expect(await exchange(tcp, 'hello')).toBe('')
    await closed
    await fixture.apply(server, 'shop', serves)
    expect(await exchange(tcp, 'hello')).toBe('db\nhello')
  })

  it('take no new connections while they drain, and end those that are open by themselves', async () => {
    const socket = connect(tcp, '127.0.0.1')
    await new Promise((resolve) => socket.once('data', resolve))
    server.process.kill('SIGUSR1')
    await until(
      () => server.said(),
      async () => (await exchange(tcp, 'hello')) === '',
    )
    const answer = new Promise<string>((resolve) => socket.once('data', (text: Buffer) => resolve(text.toString())))
    socket.write('still here')
    expect(await answer).toBe('still here')
    socket.destroy()
    expect(await ask(http, 'shop.default', '/open')).toMatchObject({ status: 503 })
  })

  it('say nothing secret', async () => {
    const said = (await fixture.host.everythingSaid()) + client.said() + server.said()
    expect(said).not.toContain('PRIVATE KEY')
  })

  it('end with their agent', async () => {
    const worker = await client.worker()
    client.process.kill('SIGKILL')
    await until(
      () => `worker ${worker} has ended`,
      () => !isRunning(worker),
    )
  })
})

/** What returns on its own connection until as much came as was sent, and the greeting; empty if it is closed. */
async function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let got = ''
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString()
      if (got.endsWith(text)) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(got))
  })
}

async function certificateOf(port: number, { host }: MeshFixture): Promise<string> {
  const { chain: cert, privateKey: key } = host.services.issue('buyer.default.cluster.local')
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      servername: 'shop.default.svc.cluster.local',
      rejectUnauthorized: false,
      cert,
      key,
    }
    const socket = connectTls(options, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber.toLowerCase() ?? '')
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
