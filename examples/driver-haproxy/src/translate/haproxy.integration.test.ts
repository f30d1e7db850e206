import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { describe, expect, it } from '@jest/globals'
import type { HeaderChanges, OutboundRoute, RouteMatch, StringMatch } from '@osm-ts/driver-api/policy'
import { called, callers, documentOf, proxyPart, served, type TestPolicy } from '@osm-ts/driver-testkit'
import fc from 'fast-check'

import { examples } from '../../test/examples.js'
import { haproxyBinary, withFolder, writeDocument } from '../../test/files.js'
import { translate } from './translate.js'

/** Against hanging: 40 processes take a while where others use the machine too. */
const TIMEOUT_MS = 120_000

const run = promisify(execFile)
const base = proxyPart('c0ffee00-0000-4000-8000-000000000001', 'haproxy')

/** What the real HAProxy says of a policy; empty if it takes it without a word. */
async function judged(policy: TestPolicy): Promise<string> {
  const { proxy, parts } = documentOf(base, policy)
  return withFolder(async (folder) => {
    const path = await writeDocument(folder, translate(proxy, parts).document)
    const { stderr } = await run(haproxyBinary(), ['-c', '-q', '-f', path], { cwd: folder })
    return stderr
  })
}

describe('a real HAProxy', () => {
  it.each(Object.keys(examples))('takes what is said for %s', async (name) => {
    expect(await judged(examples[name]!)).toBe('')
  })

  it(
    'takes whatever a policy says',
    async () => {
      const text = fc.string({ unit: 'binary', maxLength: 12 })
      const value = fc.record({ type: fc.constantFrom('exact', 'prefix', 'regex'), value: text }) as fc.Arbitrary<
        Exclude<StringMatch, { type: 'present' }>
      >
      const match = fc.record(
        {
          path: value,
          methods: fc.array(
            text.filter((word) => word !== ''),
            { minLength: 1, maxLength: 2 },
          ),
          headers: fc.array(fc.record({ name: fc.oneof(text, fc.constant('x-a')), match: value }), { maxLength: 2 }),
        },
        { requiredKeys: [] },
      ) as fc.Arbitrary<RouteMatch>
      await fc.assert(
        fc.asyncProperty(fc.array(match, { minLength: 1, maxLength: 20 }), async (matches) => {
          const rules = matches.map((each) => ({ match: each, allow: callers('a.b.cluster.local') }))
          expect(await judged(served('bookstore', 17_001, 8080, rules))).toBe('')
        }),
        { numRuns: 40 },
      )
    },
    TIMEOUT_MS,
  )

  it(
    'takes whatever routes change',
    async () => {
      const text = fc.string({ unit: 'binary', maxLength: 12 })
      const name = fc.oneof(text, fc.constant('x-a'))
      const headers = fc.array(fc.record({ name: name.filter((word) => word !== ''), value: text }), { maxLength: 2 })
      const changes: fc.Arbitrary<HeaderChanges> = fc.record({
        set: headers,
        add: headers,
        remove: fc.array(fc.constant('x-b'), { maxLength: 1 }),
      })
      const path = fc.oneof(
        text.map((value) => ({ type: 'full' as const, value: `/${value}` })),
        text.map((value) => ({ type: 'prefix' as const, value })),
      )
      const value = fc.record({ type: fc.constantFrom('exact' as const, 'regex' as const), value: text })
      const match = fc.record({ queryParameters: fc.array(fc.record({ name, match: value }), { maxLength: 2 }) })
      const upstream = 'default/shop|8080'
      const sent: fc.Arbitrary<OutboundRoute> = fc.record({
        match,
        targets: fc.array(fc.record({ upstream: fc.constant(upstream), weight: fc.nat(3), requestHeaders: changes }), {
          maxLength: 2,
        }),
        timeoutMs: fc.nat(2),
        requestHeaders: changes,
        responseHeaders: changes,
        rewrite: fc.record({ host: name, path }),
        errorWeight: fc.integer({ min: 1, max: 3 }),
      })
      const redirected: fc.Arbitrary<OutboundRoute> = fc.record({
        match,
        targets: fc.constant([]),
        timeoutMs: fc.constant(0),
        redirect: fc.record({ status: fc.constantFrom(301, 302, 303, 307, 308), host: name, path }),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(fc.oneof(sent, redirected), { minLength: 1, maxLength: 20 }), async (routes) => {
          const shop = { name: 'shop', endpoints: [17_005], outbound: { rules: { kind: 'http' as const, routes } } }
          const listen = { outboundHttp: { address: '127.0.0.1', port: 17_008 } }
          expect(await judged(called([shop], { listen }))).toBe('')
        }),
        { numRuns: 40 },
      )
    },
    TIMEOUT_MS,
  )
})
