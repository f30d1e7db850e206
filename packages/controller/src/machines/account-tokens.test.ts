import { beforeEach, describe, expect, it } from '@jest/globals'
import { machineAudience, MAX_TOKENS, SnapshotFeed } from '@osm-ts/core'
import { KubernetesError, resourceTypes } from '@osm-ts/kubernetes'

import { TextSource } from '../../test/controller-fixture.js'
import { MemoryApi } from '../../test/memory-api.js'
import { MAX_BY_ACCOUNTS } from './account-permission.js'
import { AccountTokens } from './account-tokens.js'

const HOUR_MS = 3_600_000
const namespace = 'osm-system'
const audience = machineAudience('osm')

/** A token as far as it is read before the API server is asked. */
function tokenOf(claims: object, signature = 'signature'): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return [part({ alg: 'RS256' }), part(claims), signature].join('.')
}

describe('tokens of service accounts', () => {
  let api: MemoryApi
  let tokens: AccountTokens
  let time: number
  let status: object
  let asked: unknown[]
  let machines: number

  const valid = (signature?: string, hours = 1): string =>
    tokenOf({ aud: [audience], exp: (time + hours * HOUR_MS) / 1_000 }, signature)

  beforeEach(async () => {
    time = 1_000_000_000
    api = new MemoryApi()
    asked = []
    machines = 0
    status = {
      authenticated: true,
      audiences: [audience],
      user: { username: 'system:serviceaccount:shop:store' },
    }
    const text = new TextSource()
    text.put(
      "apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: store, namespace: shop, annotations: { openservicemesh.io/machine-labels: 'app=store, tier=back' } }",
    )
    const feed = new SnapshotFeed([text])
    await feed.start(new AbortController().signal)
    tokens = new AccountTokens({
      api: {
        post: async (_path, body) => {
          asked.push(body)
          return { status }
        },
        list: (type, query) => api.list(type, query),
        get: (type, name, signal, options) => api.get(type, name, signal, options),
        create: (type, manifest) => api.create(type, manifest),
        delete: (type, name) => api.delete(type, name, {}),
      },
      meshName: 'osm',
      osmNamespace: namespace,
      current: () => feed.current(),
      machinesOf: () => machines,
      now: () => time,
    })
  })

  const codeOf = (token: string, key = 'key'): Promise<unknown> =>
    tokens.redeem(token, key).then(
      () => undefined,
      (error: unknown) => (error as { readonly code?: string }).code,
    )

  it('admit one machine with the labels of the account, and the same again that has lost its answer', async () => {
    const token = valid()
    const first = await tokens.redeem(token, 'key')
    expect(first).toMatchObject({
      namespace: 'shop',
      serviceAccount: 'store',
      labels: { app: 'store', tier: 'back' },
    })
    await expect(tokens.redeem(token, 'key')).resolves.toEqual(first)
    await expect(codeOf(token, 'thief')).resolves.toBe('OSM_MACHINE_TOKEN_USED')
    expect(asked).toContainEqual(expect.objectContaining({ spec: { token, audiences: [audience] } }))
  })

  it('leave nothing of themselves behind but a hash', async () => {
    const token = valid()
    await tokens.redeem(token, 'key')
    const { items } = await api.list(resourceTypes.Lease, { namespace })
    expect(items).toHaveLength(1)
    for (const part of token.split('.')) expect(JSON.stringify(items)).not.toContain(part)
  })

  it.each([
    ['none', 'OSM_MACHINE_TOKEN', () => 'nonsense'],
    ['for something else', 'OSM_MACHINE_TOKEN_AUDIENCE', () => tokenOf({ aud: ['vault'], exp: time / 1_000 + 60 })],
    ['valid for longer than a week', 'OSM_MACHINE_TOKEN', () => valid(undefined, 169)],
    ['without an end', 'OSM_MACHINE_TOKEN', () => tokenOf({ aud: [audience] })],
  ])('that are %s are refused before the API server is asked', async (_what, code, token) => {
    await expect(codeOf(token())).resolves.toBe(code)
    expect(asked).toEqual([])
  })

  it('that the API server does not know, or knows for another audience or of a user, are refused', async () => {
    status = { authenticated: false, error: 'invalid bearer token' }
    await expect(codeOf(valid())).resolves.toBe('OSM_MACHINE_TOKEN')
    await expect(codeOf(valid(undefined, -1))).resolves.toBe('OSM_MACHINE_TOKEN_EXPIRED')
    status = { authenticated: true, user: { username: 'system:serviceaccount:shop:store' } }
    await expect(codeOf(valid())).resolves.toBe('OSM_MACHINE_TOKEN_AUDIENCE')
    status = { authenticated: true, audiences: [audience], user: { username: 'admin' } }
    await expect(codeOf(valid())).resolves.toBe('OSM_MACHINE_TOKEN')
    status = { authenticated: true, audiences: [audience], user: { username: 'system:serviceaccount:other:store' } }
    await expect(codeOf(valid())).resolves.toBe('OSM_MACHINE_ACCOUNT')
  })

  it('are remembered until they have expired, and bounded in number', async () => {
    await tokens.redeem(valid('first'), 'key')
    time += 2 * HOUR_MS
    await tokens.redeem(valid('second'), 'key')
    const { items } = await api.list(resourceTypes.Lease, { namespace })
    expect(items).toHaveLength(1)
    const fill = async (count: number, account: string): Promise<void> => {
      const { items } = await api.list(resourceTypes.Lease, { namespace })
      for (let n = 1; n <= count; n += 1) {
        const metadata = { ...items.at(-1)?.metadata, namespace, name: `used-${account}-${n}` }
        const annotations = { ...metadata.annotations, 'openservicemesh.io/issued-for': `${account}/store` }
        api.put(resourceTypes.Lease, { metadata: { ...metadata, annotations } })
      }
    }
    await fill(MAX_BY_ACCOUNTS, 'other')
    await expect(codeOf(valid('third'))).resolves.toBeUndefined()
    await fill(MAX_BY_ACCOUNTS - 2, 'shop')
    await expect(codeOf(valid('fourth'))).resolves.toBe('OSM_MACHINE_TOKENS')
    time += 2 * HOUR_MS
    await expect(codeOf(valid('fifth'))).resolves.toBeUndefined()
    await fill(MAX_TOKENS, 'other')
    await expect(codeOf(valid('sixth'))).resolves.toBe('OSM_MACHINE_TOKENS')
  })

  it('leave room for machines of other namespaces', async () => {
    machines = MAX_BY_ACCOUNTS
    await expect(codeOf(valid())).resolves.toBe('OSM_MACHINE_LIMIT')
  })

  it('say that they cannot be checked', async () => {
    api.faults.set('create leases', new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'no', { status: 403 }))
    await expect(codeOf(valid())).resolves.toBe('OSM_MACHINE_TOKEN_STORE')
  })
})
