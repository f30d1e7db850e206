import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type CertificateSubject,
  defaultCertificateSettings,
  type JoinRequest,
  MACHINE_SERVER_NAME,
  MemoryCaStore,
  MeshCertificateManager,
  newProxyUUID,
  rootPin,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'

import { meshDomains } from '../mesh-constants.js'
import { ControlPlaneClient } from './control-plane-client.js'

const machines: CertificateSubject = { kind: 'control-plane', name: MACHINE_SERVER_NAME, dnsNames: [], ipAddresses: [] }
const proxy: CertificateSubject = {
  kind: 'proxy',
  uuid: newProxyUUID(),
  serviceAccount: { namespace: 'shop', name: 'store' },
}
const token = { kind: 'token', id: '0'.repeat(16), secret: 'A'.repeat(43) } as const
const request: Omit<JoinRequest, 'proof'> = {
  csr: 'request',
  name: 'rack-7',
  ports: [],
  listeners: { first: 15_100, last: 15_999 },
}

describe('a machine that joins', () => {
  let provider: TresorProvider
  let server: Server
  let heard: string[]
  let joinAnswer: { readonly status: number; readonly text: string }
  let skewMs: number
  let end: AbortController

  beforeEach(async () => {
    end = new AbortController()
    provider = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
    heard = []
    skewMs = 0
    joinAnswer = { status: 403, text: '{"code":"OSM_MACHINE_TOKEN","error":"the join token is unknown"}' }
  })
  afterEach(() => {
    end.abort()
    server.close()
    provider.close()
  })

  const root = (): string => provider.trustBundle('control-plane')[0] ?? ''

  /** Serves as a control plane whose certificate is that of the subject. */
  async function serve(subject: CertificateSubject): Promise<ControlPlaneClient> {
    const manager = new MeshCertificateManager({
      provider,
      settings: () => defaultCertificateSettings,
      domains: meshDomains(),
      clock: systemClock,
      random: Math.random,
      signal: end.signal,
    })
    const { chain, privateKey } = (await manager.issueCertificate(subject)).credential()
    server = createServer({ cert: chain, key: privateKey }, (incoming, response) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      incoming.once('end', () => {
        if (incoming.method === 'POST') heard.push(text)
        const trust = { status: 200, text: JSON.stringify({ trustBundle: [root()], now: Date.now() + skewMs }) }
        const { status, text: answer } = incoming.method === 'GET' ? trust : joinAnswer
        response.writeHead(status).end(answer)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new ControlPlaneClient(new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`))
  }

  const join = (client: ControlPlaneClient, pin = rootPin(root())): Promise<unknown> =>
    client.join([pin], request, token, end.signal)

  it('shows its token to the control plane of the root that the token names, and tells its answer', async () => {
    await expect(join(await serve(machines))).rejects.toMatchObject({ code: 'OSM_MACHINE_TOKEN' })
    expect(heard).toHaveLength(1)
  })

  it('does not show its token to a server of another root', async () => {
    await expect(join(await serve(machines), 'A'.repeat(43))).rejects.toMatchObject({ code: 'OSM_JOIN_TRUST' })
    expect(heard).toEqual([])
  })

  it('does not show its token to a sidecar, whose certificate is of the same root', async () => {
    await expect(join(await serve(proxy))).rejects.toMatchObject({ code: 'OSM_JOIN_TRUST' })
    expect(heard).toEqual([])
  })

  it.each([
    [3_600_000, 'behind'],
    [-3_600_000, 'ahead'],
  ])('says that its clock is off by an hour where the other differs by %d ms', async (skew, where) => {
    skewMs = skew
    await expect(join(await serve(machines))).rejects.toMatchObject({
      code: 'OSM_JOIN_CLOCK',
      message: expect.stringContaining(where),
    })
    expect(heard).toEqual([])
  })

  it.each(['{}', 'nonsense', '[]'])('takes no answer such as %s for a certificate', async (text) => {
    joinAnswer = { status: 200, text }
    await expect(join(await serve(machines))).rejects.toMatchObject({ code: 'OSM_JOIN_ANSWER' })
  })

  it('says where no one answers', async () => {
    const client = await serve(machines)
    await new Promise((resolve) => server.close(resolve))
    await expect(join(client)).rejects.toMatchObject({ code: 'OSM_JOIN_UNREACHABLE' })
  })
})
