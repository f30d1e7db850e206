import { describe, expect, it } from '@jest/globals'

import { bookbuyer } from '../../test/examples.js'
import { bagOf, rebuilt } from '../../test/part-bag.js'
import type { PolicySource, ProxyRef } from '../controller-context.js'
import type { PolicyUpdate } from '../policy/policy.js'
import { followPolicies } from './followed-policies.js'
import { PartStore } from './part-store.js'

const policy = bookbuyer()
const other = rebuilt(policy, (part) => (part.kind === 'trust' ? { ...part, roots: ['other'] } : part))
const bags = [bagOf(policy), bagOf(other)]
const get: PolicySource['parts']['get'] = async (hash) =>
  policy.parts[hash] === undefined ? bags[1]!.get(hash) : bags[0]!.get(hash)

async function* steps(): AsyncIterable<PolicyUpdate> {
  for (const { proxy } of [policy, other])
    // The rest of a step is the reader's business.
    yield { proxy } as PolicyUpdate
}

describe('the policy of a proxy that is followed', () => {
  it('has its parts held until the next step, and none of them in the end', async () => {
    const store = new PartStore({ get })
    const sizes: number[] = []
    const never = new AbortController().signal
    for await (const { proxy } of followPolicies({ watch: steps }, store, {} as ProxyRef, never)) {
      expect(store.get(proxy.trust).kind).toBe('trust')
      sizes.push(store.size)
    }
    expect(sizes[0]).toBe(Object.keys(policy.parts).length)
    expect(sizes[1]).toBe(sizes[0])
    expect(store.size).toBe(0)
  })

  it('is let go by a reader that stops early', async () => {
    const store = new PartStore({ get })
    const never = new AbortController().signal
    const followed = followPolicies({ watch: steps }, store, {} as ProxyRef, never)
    await followed.next()
    expect(store.size).toBeGreaterThan(0)
    await followed.return()
    expect(store.size).toBe(0)
  })
})
