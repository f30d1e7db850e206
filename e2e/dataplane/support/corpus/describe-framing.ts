import type { Socket } from 'node:net'

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Oracle, type OracleObject } from '@osm-ts/oracle'
import { parseAllDocuments } from 'yaml'

import { type Http1Case, http1Cases, LAST } from './framing-http1.js'
import { type Http2Case, http2Cases } from './framing-http2.js'
import { connectorAs } from './open-as.js'
import { exchange, type Seen, seenIn } from './raw-http1.js'
import { RawHttp2Client } from './raw-http2.js'
import { type TestMesh, programs, startTestMesh } from '../mesh.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from '../yaml.js'

const CLIENT = 'shop/client'
/** Envoy keeps a connection that it has refused for a second. Meanwhile other cases continue, each at its own server, which tells what it alone has seen. */
const LANES = 8
const servers = Array.from({ length: LANES }, (_, lane) => `shop/store-${lane}` as const)
const documents = [
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
  account(CLIENT),
  workload(CLIENT, { program: programs.idle }),
  ...servers.flatMap((server, lane) => [
    account(server),
    workload(server, { program: programs.recording, port: 8080 }),
    service(server, `store-${lane}`, 8080, { protocol: 'http' }),
    trafficTarget(server, { to: server, from: [CLIENT], rules: [{ kind: 'HTTPRouteGroup', name: 'routes' }] }),
  ]),
  routeGroup('shop/routes', [
    { name: 'open', pathRegex: '/open(/.*)?', methods: ['GET'] },
    { name: 'guarded', pathRegex: '/guarded', headers: [{ 'x-token': 'letmein' }] },
    { name: 'any', pathRegex: '/any', methods: ['*'] },
  ]),
]

/** A server and a way to it. */
interface Lane {
  readonly server: string
  readonly open: () => Promise<Socket>
}

/** Connections that one reader might understand otherwise than another, through sidecars of a class. */
export function describeFraming(sidecarClass: string): void {
  describe(`the framing of requests to class ${sidecarClass}`, () => {
    let mesh: TestMesh
    let lanes: readonly Lane[]
    const oracle = new Oracle(
      documents.flatMap((text) => parseAllDocuments(text).map((each) => each.toJS() as OracleObject)),
    )

    beforeAll(async () => {
      mesh = await startTestMesh({ 'mesh.yaml': documents }, { sidecarClass })
      lanes = await Promise.all(
        servers.map(async (server) => ({ server, open: await connectorAs(mesh, CLIENT, server) })),
      )
    })
    afterAll(async () => {
      await mesh.stop()
    })

    /** Why a server must not have seen what it has seen; undefined if it may. */
    function faultOf(server: string, { method, path, headers }: Seen, targets: readonly string[]): string | undefined {
      const { outcome, reason } = oracle.decide({
        from: { namespace: 'shop', name: 'client' },
        to: { namespace: 'shop', name: server.slice('shop/'.length) },
        port: 8080,
        request: { method, target: path, headers },
      })
      if (outcome !== 'allow') return `the server has seen ${method} ${path}: ${reason}`
      return targets.includes(path) ? undefined : `the server has seen ${method} ${path}, which is not a request of it`
    }

    /** What is wrong with all that the server has seen of a case, answered or not, and with the answers. */
    async function faultsOf(lane: Lane, { targets, isValid }: Http1Case | Http2Case, answered: readonly Seen[]) {
      const seen = await seenSinceThen(lane)
      const faults = seen.flatMap((each) => faultOf(lane.server, each, targets) ?? [])
      if (seen.length > targets.length) faults.push(`the server has seen ${seen.length} requests`)
      const paths = answered.map(({ path }) => path)
      const missing = targets.filter((target) => isValid === true && !paths.includes(target))
      served += seen.length
      return [...faults, ...missing.map((target) => `${target} is not answered`)]
    }

    /** Tries all cases, each at the first server that is free, and returns what is wrong. */
    async function tryAll<T extends { readonly name: string }>(
      cases: readonly T[],
      faultsIn: (lane: Lane, each: T) => Promise<readonly string[]>,
    ): Promise<readonly string[]> {
      const queue = [...cases]
      const faults: string[] = []
      const run = async (lane: Lane): Promise<void> => {
        for (let each = queue.shift(); each !== undefined; each = queue.shift()) {
          const { name } = each
          faults.push(...(await faultsIn(lane, each)).map((fault) => `${name}: ${fault}`))
        }
      }
      await Promise.all(lanes.map(run))
      return faults
    }

    let served = 0
    beforeEach(() => {
      served = 0
    })

    it(`of ${http1Cases.length} connections over HTTP/1.1 lets nothing past a rule, and hides no request`, async () => {
      const faults = await tryAll(http1Cases, async (lane, each) => {
        const socket = await lane.open()
        const isOver = (text: string): boolean =>
          text.includes(`"path":"${LAST}"`) || (each.upgrades === true && text.startsWith('HTTP/1.1 101'))
        const { text, ended } = await exchange(socket, each.bytes, isOver)
        return [...(await faultsOf(lane, each, seenIn(text))), ...(ended ? [] : ['the connection stays open'])]
      })
      console.log(`${http1Cases.length} connections over HTTP/1.1: ${served} requests served, ${faults.length} faults`)
      expect(faults).toEqual([])
    })

    it(`of ${http2Cases.length} requests over HTTP/2 lets nothing past a rule, and hides no request`, async () => {
      const faults = await tryAll(http2Cases, async ({ server, open }, each) => {
        const client = new RawHttp2Client(open)
        const { body, end } = await client.ask(each.frames)
        client.close()
        const faults = await faultsOf({ server, open }, each, seenIn(body))
        return [...faults, ...(end === 'silence' ? ['there is no end'] : [])]
      })
      console.log(`${http2Cases.length} requests over HTTP/2: ${served} served, ${faults.length} faults`)
      expect(faults).toEqual([])
    })

    /** Every request that the server has seen since the last one of these. */
    async function seenSinceThen({ open }: Lane): Promise<readonly Seen[]> {
      const socket = await open()
      const request = 'GET /open/seen HTTP/1.1\r\nHost: store.shop:8080\r\nConnection: close\r\n\r\n'
      const { text } = await exchange(socket, request, () => false)
      const [answer] = seenIn(text) as readonly { readonly requests?: readonly Seen[] }[]
      if (answer?.requests === undefined) throw new Error(`the server does not say what it has seen: ${text}`)
      return answer.requests
    }
  })
}
