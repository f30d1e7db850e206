import type { Socket } from 'node:net'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Oracle, type OracleObject, type Verdict } from '@osm-ts/oracle'
import { parseAllDocuments } from 'yaml'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { openSocket } from '@osm-ts/driver-testkit/testing'
import { conditionRequests, conditions } from './conditions.js'
import { requestFields } from './framing-http2.js'
import { connectorAs } from './open-as.js'
import { headerFrames, RawHttp2Client } from './raw-http2.js'
import { RawClient } from '../differential/raw-http.js'
import { policyCan } from '../differential/policy-can.js'
import { bytesThroughProxy, requestBytes } from '../differential/raw-request.js'
import { type TestMesh, programs, startTestMesh } from '../mesh.js'
import { type Variant, pathCorpus } from '../path-corpus.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from '../yaml.js'

const config = (escapedSlashes: 'Reject' | 'Keep'): string =>
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false, escapedSlashes } })

const documents = [
  account('shop/client'),
  account('shop/store'),
  workload('shop/client', { program: programs.idle }),
  workload('shop/store', { program: programs.recording, port: 8080 }),
  service('shop/store', 'store', 8080, { protocol: 'http' }),
  routeGroup('shop/routes', [
    { name: 'open', pathRegex: '/open(/.*)?', methods: ['GET'] },
    { name: 'single', pathRegex: '/single/[^/]+', methods: ['GET'] },
    { name: 'text', pathRegex: '/text/a%2Fb', methods: ['GET'] },
    { name: 'guarded', pathRegex: '/guarded', headers: [{ 'x-token': 'letmein' }] },
    ...conditions.map(({ path, header, pattern }, index) => ({
      name: `condition-${index}`,
      pathRegex: path,
      headers: [{ [header]: pattern }],
    })),
  ]),
  trafficTarget('shop/store', {
    to: 'shop/store',
    from: ['shop/client'],
    rules: [{ kind: 'HTTPRouteGroup', name: 'routes' }],
  }),
]

const corpus: readonly Variant[] = [...pathCorpus, ...conditionRequests]

/** Under Keep only escaped slashes are read in another way. */
const asked: Readonly<Record<'Reject' | 'Keep', readonly Variant[]>> = {
  Reject: corpus,
  Keep: corpus.filter(({ target }) => /%2f|%5c/i.test(target)),
}

/** Opens connections to the sidecar of the server, as somebody would who has stolen the certificate of the client. */
type Connector = () => Promise<Socket>

/** Somebody who sends variants. */
interface Client {
  readonly ask: (variant: Variant) => Promise<{ readonly status: number; readonly body: string }>
  readonly close: () => void
}

const ways: readonly (readonly [string, (mesh: TestMesh, straight: Connector) => Client])[] = [
  ['over HTTP/1.1 through the sidecar of the client', (mesh) => clientOf(throughSidecar(mesh), bytesThroughProxy)],
  ['over HTTP/1.1 straight to the sidecar of the server', (_mesh, straight) => clientOf(straight, requestBytes)],
  ['over HTTP/2 straight to the sidecar of the server', (_mesh, straight) => http2ClientOf(straight)],
]

/** Ways to write a request, through sidecars of a class. */
export function describePaths(sidecarClass: string): void {
  describe(`${corpus.length} ways to write a request to class ${sidecarClass}`, () => {
    let mesh: TestMesh
    let straight: Connector

    beforeAll(async () => {
      mesh = await startTestMesh({ 'config.yaml': [config('Reject')], 'mesh.yaml': documents }, { sidecarClass })
      straight = await connectorAs(mesh, 'shop/client', 'shop/store')
    })
    afterAll(async () => {
      await mesh.stop()
    })

    it('are at least 300', () => {
      expect(corpus.length).toBeGreaterThanOrEqual(300)
    })

    describe.each(['Reject', 'Keep'] as const)('with escapedSlashes: %s', (escapedSlashes) => {
      const oracle = new Oracle(
        [config(escapedSlashes), ...documents].flatMap((text) =>
          parseAllDocuments(text).map((each) => each.toJS() as OracleObject),
        ),
      )

      beforeAll(async () => {
        await mesh.write('config.yaml', config(escapedSlashes))
        const status = escapedSlashes === 'Keep' ? 200 : 400
        // Each worker of each sidecar hears of it by itself, and new connections come to any of them.
        for (const [way, open] of ways)
          await eventually(
            async () => askedOnce(() => open(mesh, straight)),
            (statuses) => statuses.every((each) => each === status),
            { timeoutMs: 120_000, what: `${status} for an escaped slash ${way}` },
          )
      })

      it('tell the setting where an escaped slash is refused', async () => {
        const client = clientOf(straight, requestBytes)
        const { status, body } = await client.ask({ method: 'GET', target: '/open/a%2Fb', headers: [] })
        client.close()
        expect([status, body.includes('spec.traffic.escapedSlashes')]).toEqual(
          escapedSlashes === 'Keep' ? [200, false] : [400, true],
        )
      })

      it('are for osm policy can what they are for the oracle, where its command line can say them', async () => {
        const can = await policyCan([config(escapedSlashes), ...documents])
        const sayable = corpus.filter(
          ({ method, target, headers }) =>
            /^[A-Z]+$/.test(method) &&
            /^[\x21-\x7e]+$/.test(target) &&
            !target.startsWith('http:') &&
            headers.every(([name, value]) => /^[-\w]+$/.test(name) && /^[\x21-\x7e]*$/.test(value)) &&
            new Set(headers.map(([name]) => name.toLowerCase())).size === headers.length,
        )
        expect(sayable.length).toBeGreaterThan(300)
        const parties = { from: 'shop/client', to: 'shop/store:8080' }
        for (const variant of sayable) {
          const { method, target, headers } = variant
          const { allowed, said } = await can({ ...parties, method, target, headers: Object.fromEntries(headers) })
          const outcome = verdictOn(oracle, variant)?.outcome
          expect({ variant: shown(variant), said, allowed }).toEqual({
            variant: shown(variant),
            said,
            allowed: outcome === 'allow',
          })
        }
      })

      it.each(ways)(
        'get past a rule %s only if the oracle lets them, and what is let in is what was sent',
        async (way, open) => {
          const faults: string[] = []
          const hindered: string[] = []
          const counts = { allowed: 0, refused: 0 }
          await forEachInLanes(
            asked[escapedSlashes],
            () => open(mesh, straight),
            async (client, variant) => {
              const { status, body } = await client.ask(variant)
              const verdict = verdictOn(oracle, variant)
              const seen = body.startsWith('{"server"')
                ? (JSON.parse(body) as { readonly path: string }).path
                : undefined
              const isPast = seen !== undefined || (variant.method === 'HEAD' && status === 200)
              counts[isPast ? 'allowed' : 'refused'] += 1
              if (isPast && verdict?.outcome !== 'allow')
                faults.push(`${shown(variant)} is let in, though ${verdict?.reason ?? 'it is not HTTP'}`)
              else if (seen !== undefined && seen !== verdict?.target)
                faults.push(`${shown(variant)} is sent on as ${seen}`)
              else if (seen !== undefined && mayBeSecret(seen)) faults.push(`${shown(variant)} reaches ${seen}`)
              else if (!isPast && verdict?.outcome === 'allow' && !mayBeRefused(variant, way))
                hindered.push(shown(variant))
            },
          )
          console.log(
            `${asked[escapedSlashes].length} requests ${way}: ${counts.allowed} let in, ${counts.refused} refused`,
          )
          expect({ faults, hindered }).toEqual({ faults: [], hindered: [] })
        },
      )
    })
  })
}

/** The statuses for an escaped slash over a number of new connections. */
async function askedOnce(open: () => Client): Promise<readonly number[]> {
  const clients = Array.from({ length: 4 * LANES }, open)
  const answers = await Promise.all(
    clients.map((client) => client.ask({ method: 'GET', target: '/open/a%2Fb', headers: [] })),
  )
  for (const client of clients) client.close()
  return answers.map(({ status }) => status)
}

/**
 * Sends variants over a few connections at once: after what is not HTTP/2, Envoy closes a connection only when a second is over, and one after the other
 * that takes a minute.
 */
async function forEachInLanes(
  variants: readonly Variant[],
  open: () => Client,
  ask: (client: Client, variant: Variant) => Promise<void>,
): Promise<void> {
  const left = variants.values()
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      const client = open()
      for (const variant of left) await ask(client, variant)
      client.close()
    }),
  )
}

/** True if the most careless of servers would find /secret: one that decodes twice, cuts off parameters, and takes backslashes for slashes. */
function mayBeSecret(target: string): boolean {
  const [path = ''] = target.split(/[?#]/)
  const unescape = (text: string): string =>
    text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  return [path, unescape(path)].some((form) => {
    const kept: string[] = []
    for (const segment of form
      .replaceAll('\\', '/')
      .split('/')
      .map((each) => each.split(';')[0] ?? '')) {
      if (segment === '..') kept.pop()
      else if (segment !== '' && segment !== '.') kept.push(segment)
    }
    return kept[0]?.toLowerCase() === 'secret'
  })
}

function clientOf(open: () => Promise<Socket>, bytes: (authority: string, variant: Variant) => Uint8Array): Client {
  const client = new RawClient(open)
  return { ask: (variant) => client.ask(bytes(AUTHORITY, variant)), close: () => client.close() }
}

function http2ClientOf(open: () => Promise<Socket>): Client {
  const client = new RawHttp2Client(open)
  return {
    // Names in upper case are not HTTP/2; whether they get through is for others to try.
    ask: ({ method, target, headers }) => {
      const fields = headers.map(([name, value]) => [name.toLowerCase(), value] as const)
      return client.ask((stream) => headerFrames(requestFields(target, fields, method), stream, true))
    },
    close: () => client.close(),
  }
}

const AUTHORITY = 'store.shop:8080'
const LANES = 8

/** Undefined: it is not HTTP, and anyone who lets it in is wrong. */
function verdictOn(oracle: Oracle, { method, target, headers }: Variant): Verdict | undefined {
  const names = headers.map(([name]) => name.toLowerCase())
  if (names.some((name) => !/^[-!#$%&'*+.^_`|~0-9a-z]+$/.test(name))) return undefined
  const values = new Map<string, string>()
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    const plain = value.replaceAll(/^[ \t]+|[ \t]+$/g, '')
    values.set(key, values.has(key) ? `${values.get(key) ?? ''},${plain}` : plain)
  }
  return oracle.decide({
    from: { namespace: 'shop', name: 'client' },
    to: { namespace: 'shop', name: 'store' },
    port: 8080,
    // A target may be a whole URL; rules are about its path.
    request: {
      method,
      target: Buffer.from(target.replace(/^http:\/\/[^/]+/, ''), 'latin1'),
      headers: Object.fromEntries(values),
    },
  })
}

function shown({ method, target, headers }: Variant): string {
  return `${method} ${target.slice(0, 100)} ${JSON.stringify(headers).slice(0, 100)}`
}

/** True for what sidecars may refuse though rules allow it: what HTTP does not allow, what only one hop gets, and what is longer than servers read. */
function mayBeRefused({ target, headers }: Variant, way: string): boolean {
  return (
    (way.includes('HTTP/2') && headers.some(([, value]) => value !== value.trim())) ||
    /[^\x21-\x7e]/.test(target) ||
    target.startsWith('http:') ||
    target.length > 16_000 ||
    headers.some(([name]) => name === 'connection')
  )
}

function throughSidecar(mesh: TestMesh): () => Promise<Socket> {
  const { hostname, port } = new URL(mesh.proxyOf('shop/client'))
  return () => openSocket({ host: hostname, port: Number(port) }, undefined)
}
