import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type AccessLog, PolicyReader } from '@osm-ts/driver-api/policy'
import type { PipyConfig } from '@osm-ts/driver-pipy'

import { logFormat } from '@osm-ts/driver-pipy/testing'
import { open, through } from './support/calls.js'
import { clientConfig, serverConfig } from './support/configs.js'
import { Shop } from './support/shop.js'
import type { Worker } from './support/worker.js'

/** What a Telemetry asks for, as the driver hands it to scripts. */
function formatted(format: AccessLog['format'], template?: string): Partial<PipyConfig> {
  const reader = new PolicyReader(() => {
    throw new Error('a log format refers to nothing')
  })
  const accessLog = { enabled: true, format, ...(template === undefined ? {} : { template }) }
  const accessLogFormat = logFormat(accessLog, reader, { kind: 'mesh', id: 'mesh', hash: 'x' as never })
  expect(reader.refusals).toEqual([])
  return { accessLog: true, ...(accessLogFormat === undefined ? {} : { accessLogFormat }) }
}

describe('the access log of real sidecars', () => {
  let shop: Shop

  beforeAll(async () => {
    shop = await Shop.open()
  })
  afterAll(async () => {
    await shop.stop()
  })

  async function apply(log: Partial<PipyConfig>): Promise<void> {
    await shop.apply({ ...clientConfig(shop), ...log }, { ...serverConfig(shop), ...log })
  }

  /** The line that holds the mark, once it is there. */
  async function lineOf(worker: Worker, mark: string): Promise<string> {
    const find = (): string | undefined =>
      worker
        .output()
        .split('\n')
        .slice(0, -1)
        .find((line) => line.includes(mark))
    await shop.until(() => find() !== undefined, true, `a line with ${mark}`)
    return find() ?? ''
  }

  const call = (mark: string) =>
    through(shop.at.proxy, `http://server.demo:8080/books/${mark}?secret=1`, {
      headers: { 'x-request-id': `id-${mark}` },
    })

  it('is JSON with the usual names, without queries', async () => {
    await apply(formatted('json'))
    const { body } = await call('usual')
    const outbound = JSON.parse(await lineOf(shop.workers.client, '/books/usual')) as unknown
    expect(outbound).toMatchObject({
      direction: 'outbound',
      method: 'GET',
      path: '/books/usual',
      authority: 'server.demo:8080',
      protocol: 'HTTP/1.1',
      response_code: 200,
      response_flags: null,
      bytes_received: 0,
      bytes_sent: body.length,
      upstream_cluster: 'http',
      upstream_host: shop.at.servedHttp,
      request_id: 'id-usual',
      caller: null,
    })
    expect(JSON.parse(await lineOf(shop.workers.server, '/books/usual'))).toMatchObject({
      direction: 'inbound',
      response_code: 200,
      bytes_sent: body.length,
      upstream_cluster: 'demo/server|8080',
      upstream_host: shop.apps.http.address,
      caller: 'client.demo.cluster.local',
    })
    expect(`${shop.workers.client.output()}${shop.workers.server.output()}`).not.toContain('secret')
  })

  it('is an object of a template, with numbers, and null where nothing is known', async () => {
    const template = {
      code: '%RESPONSE_CODE%',
      who: '%DOWNSTREAM_PEER_SUBJECT%',
      request: { what: '%REQ(:METHOD)% %REQ(X-ORIGINAL?:PATH)%', short: '%REQ(X-REQUEST-ID):4%' },
      none: '%REQ(X-NONE)%',
      type: '%RESP(CONNECTION-X?DATE)%',
      host: '%HOSTNAME%',
      server: '%REQUESTED_SERVER_NAME%',
    }
    await apply(formatted('json', JSON.stringify(template)))
    await call('template')
    expect(JSON.parse(await lineOf(shop.workers.server, '/books/template'))).toEqual({
      code: 200,
      who: 'CN=client.demo.cluster.local',
      request: { what: 'GET /books/template', short: 'id-t' },
      none: null,
      type: expect.stringMatching(/GMT$/) as unknown,
      host: 'server-0',
      server: 'server.demo.svc.cluster.local',
    })
  })

  it('goes on beside the log of Pipy itself, and after scripts were reloaded', async () => {
    await apply(formatted('text', '%REQ(X-REQUEST-ID)%'))
    const { client } = shop.workers
    const before = client.output().split('Listening').length
    await call('before')
    await lineOf(client, 'id-before')
    client.reload()
    await shop.until(() => client.output().split('Listening').length > before, true, 'listeners of the new scripts')
    // They listen once they have their configuration.
    const status = (): Promise<number> =>
      call('after').then(
        (answer) => answer.status,
        () => 0,
      )
    await shop.until(status, 200, 'an answer by the new scripts')
    await lineOf(client, 'id-after')
  })

  it('is a line of a template, or of the usual facts', async () => {
    await apply(formatted('text', '100%% %REQ(:PATH)% %RESPONSE_CODE% %RESPONSE_CODE_DETAILS% %REQ(X-NONE)%\n'))
    await call('line')
    expect(await lineOf(shop.workers.client, '/books/line')).toBe('100% /books/line 200 via_upstream -')
    expect(await lineOf(shop.workers.server, '/books/line')).toBe('100% /books/line 200 via_upstream -')
    await apply(formatted('text'))
    await call('facts')
    expect(await lineOf(shop.workers.client, '/books/facts')).toMatch(
      /^start_time=\S+Z method=GET path=\/books\/facts protocol=HTTP\/1.1 response_code=200 response_flags=- bytes_received=0 /,
    )
  })

  it('has what the sidecar answers itself, and why', async () => {
    await apply(formatted('text', '%REQ(X-REQUEST-ID)% %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS%'))
    await through(shop.at.proxy, 'http://server.demo:8080/forbidden', { headers: { 'x-request-id': 'refused' } })
    expect(await lineOf(shop.workers.server, 'refused')).toBe('refused 403 - direct_response')
    expect(await lineOf(shop.workers.client, 'refused')).toBe('refused 403 - via_upstream')
    const client = clientConfig(shop)
    const http = client.upstreams?.['http']
    if (http === undefined) throw new Error('the client calls an HTTP port')
    const nowhere = {
      ...http,
      addresses: { kind: 'endpoints' as const, priorities: [[{ address: '127.0.0.1:1', weight: 1 }]] },
    }
    const log = formatted('text', '%REQ(X-REQUEST-ID)% %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS%')
    await shop.give('client', { ...client, ...log, upstreams: { ...client.upstreams, http: nowhere } })
    await call('nowhere')
    expect(await lineOf(shop.workers.client, 'id-nowhere')).toBe('id-nowhere 503 UF direct_response')
  })

  it('has connections of the workload and to it, once they are over', async () => {
    const format =
      'tcp %UPSTREAM_CLUSTER% %BYTES_RECEIVED% %BYTES_SENT% %REQ(:PATH)% %UPSTREAM_HOST% %DOWNSTREAM_PEER_SUBJECT%'
    await apply(formatted('text', format))
    const { socket, received } = open(shop.at.clientTcp)
    await shop.until(received, 'hello\n', 'the greeting')
    socket.write('four')
    await shop.until(received, 'hello\nfour', 'the echo')
    socket.destroy()
    expect(await lineOf(shop.workers.client, 'tcp tcp')).toBe(`tcp tcp 4 10 - ${shop.at.servedTcp} -`)
    expect(await lineOf(shop.workers.server, 'tcp demo')).toBe(
      `tcp demo/server|9000 4 10 - ${shop.apps.tcp.address} CN=client.demo.cluster.local`,
    )
  })
})
