import { describe, expect, it } from '@jest/globals'

import type { Credential, ProxyRef } from '../controller-context.js'
import { CredentialFollower, type SecretCredentialRef } from './credential-follower.js'

const ref = (name: string): SecretCredentialRef => ({ kind: 'secret', namespace: 'shop', name })
const credential: Credential = { chain: 'c', privateKey: 'k', expiry: '', serialNumber: '1' }

/** A follower over streams that the test feeds. */
function follower(answer: (name: string, signal: AbortSignal) => AsyncIterable<Credential>) {
  const given: string[] = []
  const asked: string[] = []
  const warnings: unknown[] = []
  const stop = new AbortController()
  const nothing = () => undefined
  const following = new CredentialFollower({
    proxy: { uuid: 'u' } as unknown as ProxyRef,
    certificates: {
      credentials: (_, wanted, signal) => {
        const name = wanted.kind === 'secret' ? wanted.name : ''
        asked.push(name)
        return answer(name, signal)
      },
    },
    logger: { debug: nothing, info: nothing, warn: (fields) => warnings.push(fields), error: nothing },
    onCredential: ({ name }) => given.push(name),
    signal: stop.signal,
  })
  return { following, given, asked, warnings, stop }
}

/** Gives one credential and then waits for the end. */
async function* one(_name: string, signal: AbortSignal): AsyncGenerator<Credential> {
  yield credential
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the client certificates that a policy names', () => {
  it('are requested once as long as it names them, and not listened to any longer', async () => {
    const { following, given, asked, stop } = follower(one)
    following.follow([ref('a'), ref('b')])
    following.follow([ref('b'), ref('c')])
    await turn()
    expect(asked).toEqual(['a', 'b', 'c'])
    expect(given).toEqual(['b', 'c'])
    stop.abort()
    await following.finished()
  })

  it('are requested again by the next policy if they were unavailable', async () => {
    let denied = true
    const { following, given, warnings, stop } = follower((name, signal) => {
      if (denied) throw new Error('denied')
      return one(name, signal)
    })
    following.follow([ref('a')])
    await turn()
    expect(warnings).toMatchObject([{ namespace: 'shop', name: 'a' }])
    denied = false
    following.follow([ref('a')])
    await turn()
    expect(given).toEqual(['a'])
    stop.abort()
    await following.finished()
  })
})
