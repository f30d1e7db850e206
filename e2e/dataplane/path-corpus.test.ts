import type { Socket } from 'node:net'

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { ProxyPolicy } from '@osm-ts/driver-api'
import { Oracle, type OracleObject, type Verdict } from '@osm-ts/oracle'
import { parseAllDocuments } from 'yaml'

import { openSocket } from '../../packages/driver-testkit/src/actor/calls.js'
import { issueLike } from './support/authority.js'
import { RawClient } from './support/differential/raw-http.js'
import { bytesThroughProxy, requestBytes } from './support/differential/raw-request.js'
import { type TestMesh, programs, startTestMesh } from './support/mesh.js'
import { type Variant, pathCorpus } from './support/path-corpus.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

jest.setTimeout(120_000)

const documents = [
  meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
  account('shop/client'),
  account('shop/store'),
  workload('shop/client', { program: programs.idle }),
  workload('shop/store', { program: programs.http, port: 8080 }),
  service('shop/store', 'store', 8080, { protocol: 'http' }),
  routeGroup('shop/routes', [
    { name: 'open', pathRegex: '/open(/.*)?', methods: ['GET'] },
    { name: 'guarded', pathRegex: '/guarded', headers: [{ 'x-token': 'letmein' }] },
  ]),
  trafficTarget('shop/store', {
    to: 'shop/store',
    from: ['shop/client'],
    rules: [{ kind: 'HTTPRouteGroup', name: 'routes' }],
  }),
]

describe(`${pathCorpus.length} ways to write a request`, () => {
  let mesh: TestMesh
  const oracle = new Oracle(
    documents.flatMap((text) => parseAllDocuments(text).map((each) => each.toJS() as OracleObject)),
  )

  beforeAll(async () => {
    mesh = await startTestMesh({ 'mesh.yaml': documents })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('are at least 300', () => {
    expect(pathCorpus.length).toBeGreaterThanOrEqual(300)
  })

  it.each([
    ['through the sidecar of the client', (variant: Variant) => bytesThroughProxy(AUTHORITY, variant), throughSidecar],
    ['straight to the sidecar of the server', (variant: Variant) => requestBytes(AUTHORITY, variant), straight],
  ])(
    'get past a rule %s only if the oracle lets them, and what is let in is what was sent',
    async (_way, bytes, open) => {
      const client = new RawClient(() => open(mesh))
      const faults: string[] = []
      const hindered: string[] = []
      for (const variant of pathCorpus) {
        const { status, body } = await client.ask(bytes(variant))
        const verdict = verdictOn(oracle, variant)
        const seen = body.startsWith('{"server"') ? (JSON.parse(body) as { readonly path: string }).path : undefined
        const isPast = seen !== undefined || (variant.method === 'HEAD' && status === 200)
        if (isPast && verdict?.outcome !== 'allow')
          faults.push(`${shown(variant)} is let in, though ${verdict?.reason ?? 'it is no HTTP'}`)
        else if (seen !== undefined && seen !== verdict?.target) faults.push(`${shown(variant)} is sent on as ${seen}`)
        else if (!isPast && verdict?.outcome === 'allow' && !mayBeRefused(variant)) hindered.push(shown(variant))
      }
      client.close()
      expect({ faults, hindered }).toEqual({ faults: [], hindered: [] })
    },
  )
})

const AUTHORITY = 'store.shop:8080'

/** Undefined: it is no HTTP, and whoever lets it in is wrong. */
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
function mayBeRefused({ target, headers }: Variant): boolean {
  return (
    /[^\x21-\x7e]/.test(target) ||
    target.startsWith('http:') ||
    target.length > 16_000 ||
    headers.some(([name]) => name === 'connection')
  )
}

async function throughSidecar(mesh: TestMesh): Promise<Socket> {
  const { hostname, port } = new URL(mesh.proxyOf('shop/client'))
  return openSocket({ host: hostname, port: Number(port) }, undefined)
}

/** As somebody would who has stolen the certificate of the client. */
async function straight(mesh: TestMesh): Promise<Socket> {
  const { uuid } = mesh.instance('shop/store')
  const { proxy } = JSON.parse(await mesh.debug(`/debug/policy?uuid=${uuid}`)) as ProxyPolicy
  const listen = proxy.inbound[0]?.listen
  if (listen === undefined) throw new Error('the server has no inbound listener')
  const { certificate } = await issueLike(mesh.stateFolder, {
    kind: 'service',
    serviceAccount: { namespace: 'shop', name: 'client' },
    services: [],
  })
  return openSocket(
    { host: listen.address, port: listen.port },
    {
      serverName: 'store.shop.svc.cluster.local',
      alpn: ['osm'],
      certificate: { chain: certificate.chain, privateKey: certificate.privateKey() },
    },
  )
}
