import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureVersion, TLSSocket } from 'node:tls'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { Credential } from '@osm-ts/driver-api'
import type { PipyConfig } from '@osm-ts/driver-pipy'
import { testAuthority } from '@osm-ts/driver-testkit'

import { through } from './support/calls.js'
import { clientConfig } from './support/configs.js'
import { Shop } from './support/shop.js'

type OutsideTls = NonNullable<PipyConfig['upstreams'][string]['outsideTls']>

const PARTNER = 'secret/demo/partner'
const OTHER = 'secret/demo/other'

describe('TLS that a real sidecar speaks to servers outside the mesh', () => {
  const partner = testAuthority('a partner')
  let shop: Shop
  const ends: (() => Promise<void>)[] = []
  /** What servers got that was no TLS, or no whole handshake. */
  let refused = 0

  beforeAll(async () => {
    shop = await Shop.open()
  })
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
    refused = 0
  })
  afterAll(async () => {
    await shop.stop()
  })

  /** A server that requests certificates of the partner, and says whose one was and which name was requested. */
  async function serve(
    names: readonly string[],
    {
      authority = partner,
      versions = ['TLSv1.2', 'TLSv1.3'] as readonly [SecureVersion, SecureVersion],
      ca = partner,
      keepsOpen = true,
    } = {},
  ): Promise<string> {
    const { chain, privateKey } = authority.issue('server', { dns: names })
    const [minVersion, maxVersion] = versions
    const server = createServer(
      {
        cert: chain,
        key: privateKey,
        ca: ca.certificate,
        requestCert: true,
        rejectUnauthorized: false,
        minVersion,
        maxVersion,
      },
      (request, response) => {
        const socket = request.socket as TLSSocket
        if (!keepsOpen) response.setHeader('connection', 'close')
        const { subject } = socket.getPeerCertificate()
        const client = socket.authorized ? String(subject.CN) : 'nobody'
        response.end(JSON.stringify([client, socket.servername, socket.getProtocol(), request.headers.host]))
      },
    )
    server.on('tlsClientError', () => {
      refused += 1
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ends.push(async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const usual: OutsideTls = {
    serverName: 'pay.example',
    names: ['pay.example'],
    addresses: [],
    shows: { credential: PARTNER },
    roots: { credential: PARTNER },
  }
  const material = ({ chain, privateKey }: Credential, authority = partner) => ({
    chain,
    key: privateKey,
    roots: [authority.certificate],
  })
  const client = (name: string): Credential => partner.issue(name)

  /** Has the sidecar call a server outside the mesh. */
  async function call(
    address: string,
    outsideTls: OutsideTls,
    further: Readonly<Record<string, ReturnType<typeof material>>>,
    changes: Partial<PipyConfig> = {},
  ) {
    const base = clientConfig(shop)
    const config: Partial<PipyConfig> = {
      ...base,
      outside: [
        {
          id: 'http/pay',
          port: 80,
          protocol: 'http',
          hosts: ['pay.example'],
          cidrs: [],
          routes: [{ match: {}, shares: [{ upstream: 'pay', weight: 1 }] }],
        },
      ],
      upstreams: {
        ...base.upstreams,
        pay: {
          http2: false,
          addresses: { kind: 'endpoints', priorities: [[{ address, weight: 1 }]] },
          outsideTls,
          connectTimeoutMs: 2_000,
          balancing: 'round-robin',
        },
      },
      ...changes,
    }
    return shop.give('client', config, shop.issue('client'), further)
  }
  const ask = async (): Promise<unknown> => {
    const { status, body } = await through(shop.at.proxy, 'http://pay.example/')
    return status === 200 ? (JSON.parse(body) as unknown) : status
  }

  it('shows the certificate of a Secret to a server that its roots have signed, and requests it by its name', async () => {
    const address = await serve(['pay.example'])
    const word = await call(address, usual, { [PARTNER]: material(client('buyer-1')) })
    expect(word.refused).toBeUndefined()
    expect(word.unusable).toEqual([])
    expect(await ask()).toEqual(['buyer-1', 'pay.example', 'TLSv1.3', 'pay.example'])
  })

  it('shows its own certificate, or none, and takes roots of the mesh', async () => {
    const address = await serve(['pay.example'], { authority: shop.authority, ca: shop.authority })
    const { shows: _, ...nothing } = usual
    await call(address, { ...usual, shows: 'own', roots: 'mesh' }, {})
    expect(await ask()).toEqual(['client.demo.cluster.local', 'pay.example', 'TLSv1.3', 'pay.example'])
    await call(address, { ...nothing, roots: 'mesh' }, {})
    expect(await ask()).toEqual(['nobody', 'pay.example', 'TLSv1.3', 'pay.example'])
  })

  it.each<[string, readonly string[], Partial<OutsideTls>, boolean]>([
    ['another name', ['evil.example'], {}, false],
    ['a name that the Egress expects in place of the host', ['pay-1.example'], { names: ['pay-1.example'] }, true],
    ['a name for all of a domain', ['*.pay.example'], { names: ['eu.pay.example'] }, true],
    ['its address', ['127.0.0.1'], { names: [], addresses: ['7f000001'] }, true],
    ['another address', ['127.0.0.2'], { names: [], addresses: ['7f000001'] }, false],
    ['its address written as a name', ['x127.0.0.1'], { names: [], addresses: ['7f000001'] }, false],
  ])('looks at whom the certificate of a server is for: %s', async (_what, names, tls, isTaken) => {
    const address = await serve(names)
    await call(address, { ...usual, ...tls }, { [PARTNER]: material(client('buyer-1')) })
    expect(await ask()).toEqual(isTaken ? ['buyer-1', 'pay.example', 'TLSv1.3', 'pay.example'] : 503)
  })

  it('names no server that is known by an address', async () => {
    const address = await serve(['127.0.0.1'])
    const { serverName: _, ...nameless } = usual
    await call(address, { ...nameless, names: [], addresses: ['7f000001'] }, { [PARTNER]: material(client('b')) })
    expect(await ask()).toEqual(['b', false, 'TLSv1.3', 'pay.example'])
  })

  it('refuses servers that others have signed, those of the system included', async () => {
    const address = await serve(['pay.example'], { authority: testAuthority('strangers') })
    for (const roots of [usual.roots, 'mesh', 'system'] as const) {
      await call(address, { ...usual, roots }, { [PARTNER]: material(client('buyer-1')) })
      expect(await ask()).toBe(503)
    }
  })

  it('keeps to the versions of TLS that the mesh has', async () => {
    const trust = { roots: [shop.authority.certificate], ciphers: '', alpn: 'osm' }
    const further = { [PARTNER]: material(client('buyer-1')) }
    const only2 = await serve(['pay.example'], { versions: ['TLSv1.2', 'TLSv1.2'] })
    await call(only2, usual, further)
    expect(await ask()).toEqual(['buyer-1', 'pay.example', 'TLSv1.2', 'pay.example'])
    await call(only2, usual, further, { trust: { ...trust, versions: { min: 'TLS1.3', max: 'TLS1.3' } } })
    expect(await ask()).toBe(503)
    const only3 = await serve(['pay.example'], { versions: ['TLSv1.3', 'TLSv1.3'] })
    await call(only3, usual, further, { trust: { ...trust, versions: { min: 'TLS1.2', max: 'TLS1.2' } } })
    expect(await ask()).toBe(503)
    await call(only3, usual, further, { trust })
    expect(await ask()).toBe(503)
  })

  it('sends nothing in plaintext to a server that speaks no TLS, nor without what it needs', async () => {
    const address = await serve(['pay.example'])
    await call(shop.apps.http.address, usual, { [PARTNER]: material(client('buyer-1')) })
    expect(await ask()).toBe(503)
    await call(address, usual, {})
    expect(await ask()).toBe(503)
    await call(address, usual, { [PARTNER]: { ...material(client('buyer-1')), roots: [] } })
    expect(await ask()).toBe(503)
    expect(refused).toBe(0)
  })

  it('shows another certificate once there is one, to the connections from then on', async () => {
    const address = await serve(['pay.example'])
    for (const name of ['buyer-1', 'buyer-2', 'buyer-1']) {
      await call(address, usual, { [PARTNER]: material(client(name)) })
      expect(await ask()).toEqual([name, 'pay.example', 'TLSv1.3', 'pay.example'])
    }
  })

  it('loses no request while certificates are replaced', async () => {
    const address = await serve(['pay.example'], { keepsOpen: false })
    await call(address, usual, { [PARTNER]: material(client('buyer')) })
    const answers: unknown[] = []
    let isOver = false
    const load = async (): Promise<void> => {
      while (!isOver) answers.push(await ask())
    }
    const running = Promise.all([load(), load()])
    for (let i = 0; i < 30; i += 1) await call(address, usual, { [PARTNER]: material(client('buyer')) })
    isOver = true
    await running
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set([JSON.stringify(['buyer', 'pay.example', 'TLSv1.3', 'pay.example'])]),
    )
  })

  it('gives up roots that are taken away, and takes those that come', async () => {
    const strangers = testAuthority('strangers')
    const address = await serve(['pay.example'])
    for (const [authority, status] of [
      [partner, 200],
      [strangers, 503],
      [partner, 200],
    ] as const) {
      await call(address, usual, { [PARTNER]: material(client('buyer-1'), authority) })
      const answer = await ask()
      expect(Array.isArray(answer) ? 200 : answer).toBe(status)
    }
  })

  it('says which credential it cannot use, and continues with everything else', async () => {
    const address = await serve(['pay.example'])
    const broken = { chain: 'none', key: 'none', roots: [partner.certificate] }
    const word = await call(address, usual, { [PARTNER]: broken, [OTHER]: material(client('buyer-1')) })
    expect(word.refused).toBeUndefined()
    expect(word.unusable).toEqual([PARTNER])
    expect(await ask()).toBe(503)
    const { key } = material(client('buyer-1'))
    const [, line = ''] = key.split('\n')
    await call(address, usual, { [PARTNER]: { ...broken, key } })
    expect(shop.workers.client.output()).not.toContain(line)
    await call(
      address,
      { ...usual, shows: { credential: OTHER } },
      {
        [PARTNER]: broken,
        [OTHER]: material(client('buyer-2')),
      },
    )
    // The roots are those of the broken one.
    expect(await ask()).toBe(503)
    const whole = await call(address, usual, { [PARTNER]: material(client('buyer-2')) })
    expect(whole.unusable).toEqual([])
    expect(await ask()).toEqual(['buyer-2', 'pay.example', 'TLSv1.3', 'pay.example'])
  })

  it('shows keys on no page of its own', async () => {
    const address = await serve(['pay.example'])
    const credential = client('buyer-1')
    await call(address, usual, { [PARTNER]: material(credential) })
    await ask()
    const [, line = ''] = credential.privateKey.split('\n')
    expect(line.length).toBeGreaterThan(40)
    for (const path of ['/certs', '/stats', '/stats/prometheus', '/ready', '/config_dump']) {
      const page = await (await fetch(`http://${shop.at.clientAdmin}${path}`)).text()
      expect(page).not.toContain(line)
    }
    expect(shop.workers.client.output()).not.toContain(line)
  })
})
