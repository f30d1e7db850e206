import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { kernelTestObstacle, run } from './kernel.js'
import { programs, startTestMesh, type TestMesh } from './mesh.js'
import { account, meshConfig, service, workload } from './yaml.js'

const PORT = 8080
const app = (name: string): string => fileURLToPath(new URL(`./apps/${name}.mjs`, import.meta.url))

/** Statuses that the caller sees, by class. Null where a sidecar waits for more. */
type Statuses = readonly [envoy: number, pipy: number | null]

/** Answers of unusual-answers-server.mjs, by name. */
const answers: readonly (readonly [name: string, ...Statuses])[] = [
  ['length and chunks', 200, 502],
  ['chunks in capitals', 200, 200],
  ['chunk with extension', 200, 200],
  ['chunk size with spaces', 200, 503],
  ['chunks twice', 502, 502],
  ['gzip and chunks', 502, 502],
  ['identity with length', 502, 502],
  ['equal lengths', 502, 502],
  ['list of equal lengths', 502, 502],
  ['no reason', 200, 200],
  ['line feeds alone', 200, null],
  ['status 218', 218, 218],
  ['status 999', 999, 502],
  ['bytes of Latin-1', 200, 502],
  ['empty header', 200, 200],
  ['folded header', 200, 502],
  ['header twice', 200, 200],
  ['space before a colon', 502, 502],
  ['space in a name', 502, 502],
  ['no colon', 502, 502],
  ['204 with length 0', 204, 204],
  ['204 with chunks', 502, 204],
  ['304 with a length', 304, 304],
  ['to the end of HTTP 1.0', 200, 200],
  ['to the end of HTTP 1.1', 200, 200],
  ['401 with two challenges', 401, 401],
]

const HOST = 'Host: web.shop:8080'
const message = (line: string, fields: readonly string[] = [], body = ''): string =>
  `${[line, ...(fields.some((field) => /^host:/i.test(field)) ? [] : [HOST]), ...fields].join('\r\n')}\r\n\r\n${body}`
const chunked = 'Transfer-Encoding: chunked'

/** Requests as they are sent, with a text that the server has to see. */
const requests: readonly (readonly [what: string, sent: string, seen: string, ...Statuses])[] = [
  ['an absolute URL', message('GET http://web.shop:8080/abs HTTP/1.1'), 'get /abs http/1.1', 200, 200],
  ['a host with a dot at the end', message('GET /a HTTP/1.1', ['Host: web.shop.']), 'host: web.shop.', 200, 200],
  ['a host in capitals', message('GET /a HTTP/1.1', ['HOST: WEB.SHOP:8080']), 'host: web.shop:8080', 200, 200],
  ['an empty line first', `\r\n${message('GET /a HTTP/1.1')}`, 'get /a http/1.1', 200, 200],
  ['no host, over HTTP/1.0', 'GET /a HTTP/1.0\r\n\r\n', 'host: web.shop', 200, 200],
  ['line feeds alone', 'GET /a HTTP/1.1\nHost: web.shop\n\n', 'get /a http/1.1', 200, null],
  ['JSON in the query', message('GET /q?f={"a":[1]}|^`\\ HTTP/1.1'), 'get /q?f={"a":[1]}|^`\\ http/1.1', 200, 200],
  ['brackets in the query', message('GET /q?a[]=1&a[]=2 HTTP/1.1'), 'get /q?a[]=1&a[]=2 http', 200, 200],
  ['an empty query', message('GET /a? HTTP/1.1'), 'get /a? http/1.1', 200, 200],
  ['a bare percent sign in the query', message('GET /a?q=50% HTTP/1.1'), 'get /a?q=50% http', 200, 200],
  ['a bare percent sign in the path', message('GET /50%/a HTTP/1.1'), '', 400, 400],
  ['a fragment', message('GET /a#b HTTP/1.1'), '', 400, 400],
  ['a folded header', message('GET /a HTTP/1.1', ['X-Fold: a\r\n\tb']), 'x-fold: a', 200, 400],
  ['a header in UTF-8', message('GET /a HTTP/1.1', ['X-Name: Gr\xc3\xbc\xc3\x9fe']), 'x-name: gr\xe3', 200, 200],
  ['a header in Latin-1', message('GET /a HTTP/1.1', ['X-Name: Gr\xfc\xdfe']), 'x-name: gr\xfc\xdfe', 200, 400],
  ['a line without colon', message('GET /a HTTP/1.1', ['Nothing']), '', 400, 400],
  ['a body of GET', message('GET /a HTTP/1.1', ['Content-Length: 4'], 'body'), 'body', 200, 200],
  ['chunks of DELETE', message('DELETE /a HTTP/1.1', [chunked], '4\r\nbody\r\n0\r\n\r\n'), 'body', 200, 200],
  ['an extension of a chunk', message('POST /a HTTP/1.1', [chunked], '4;x="y"\r\nbody\r\n0\r\n\r\n'), 'body', 200, 200],
  ['a length and chunks', message('POST /a HTTP/1.1', [chunked, 'Content-Length: 4'], '0\r\n\r\n'), '', 400, 400],
  ['equal lengths', message('POST /a HTTP/1.1', ['Content-Length: 1', 'Content-Length: 1'], 'b'), '', 400, 400],
  ['identity', message('POST /a HTTP/1.1', ['Transfer-Encoding: identity', 'Content-Length: 1'], 'b'), '', 400, 400],
  ['two cookie headers', message('GET /a HTTP/1.1', ['Cookie: a=1', 'Cookie: b=2']), 'b=2', 200, 200],
  ['a ticket of 12 kB', message('GET /a HTTP/1.1', [`X: ${'t'.repeat(12_000)}`]), 't'.repeat(12_000), 200, 200],
  ['a SOAP action', message('GET /a HTTP/1.1', ['SOAPAction: "urn:x#y"']), 'soapaction: "urn:x#y"', 200, 200],
]

/** Statuses of a class in place of those of all; without what that class waits for. */
function ofClass<T extends readonly unknown[]>(
  rows: readonly (readonly [...T, ...Statuses])[],
  sidecarClass: 'envoy' | 'pipy',
): readonly (readonly [...T, number])[] {
  return rows.flatMap((row) => {
    const [envoy, pipy] = row.slice(-2) as unknown as Statuses
    const status = sidecarClass === 'envoy' ? envoy : pipy
    return status === null ? [] : [[...(row.slice(0, -2) as unknown as T), status] as const]
  })
}

/** Answers and requests that ordinary programs send, though standards would not have all of them. */
export function describeUnusualMessages(sidecarClass: 'envoy' | 'pipy'): void {
  describe(`unusual HTTP/1.1 through sidecars of class ${sidecarClass}`, () => {
    let mesh: TestMesh
    let namespace: string

    const heard = (sent: string, until: string): string => {
      const argument = JSON.stringify({ host: 'web.shop', port: PORT, say: [sent], until })
      return run('ip', ['netns', 'exec', namespace, process.execPath, app('raw-client'), argument])
    }
    const statusOf = (answer: string): number => Number(answer.split(' ')[1])

    beforeAll(async () => {
      expect(kernelTestObstacle()).toBeUndefined()
      mesh = await startTestMesh(
        {
          'config.yaml': [meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: true, enableEgress: false } })],
          'shop.yaml': [
            ...['client', 'web'].map((name) => account(`shop/${name}`)),
            workload('shop/client', { program: programs.idle }),
            workload('shop/web', { program: app('unusual-answers-server'), port: PORT, env: { PORT: String(PORT) } }),
            service('shop/web', 'web', PORT, { protocol: 'http' }),
          ],
        },
        { mode: 'transparent', sidecarClass },
      )
      namespace = run('ip', ['netns', 'identify', String(mesh.instance('shop/client').pid)]).trim()
      await eventually(
        () => Promise.resolve(statusOf(heard(message('GET /answer/none HTTP/1.1'), '\r\n\r\n'))),
        (status) => status === 200,
        { what: 'an answer' },
      )
    })
    afterAll(async () => {
      await mesh.stop()
    })

    it.each(ofClass<[string]>(answers, sidecarClass))(
      'have an answer with %s reach the caller, or be told by a status',
      (name, status) => {
        const hasBody = status < 500 && status !== 204 && status !== 304
        const answer = heard(
          message(`GET /answer/${encodeURIComponent(name)} HTTP/1.1`),
          hasBody ? 'hello' : '\r\n\r\n',
        )
        expect(statusOf(answer)).toBe(status)
        if (hasBody) expect(answer).toContain('hello')
      },
    )

    it.each(ofClass<[string, string, string]>(requests, sidecarClass))(
      'have a request with %s reach the server, or be told by a status',
      (_, sent, seen, status) => {
        const answer = heard(sent, status === 200 ? '(end)' : '\r\n\r\n').toLowerCase()
        expect(statusOf(answer)).toBe(status)
        expect(answer).toContain(status === 200 ? seen : '')
      },
    )
  })
}
