import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { Credential, DriverCertificates, ProxyRef } from '@osm-ts/driver-api'

import { IdentityFollower } from './identity-follower.js'
import { limits } from '../limits.js'

const proxy = { session: 'a' } as ProxyRef // of which the follower reads nothing

/** Issues one certificate after the other, each until it is given up. */
function issuing(key: Credential['key']) {
  let issued = 0
  const asked: unknown[] = []
  const certificates: Pick<DriverCertificates, 'identity'> = {
    async *identity(_proxy, signal, options) {
      asked.push(options)
      issued += 1
      yield { certificateChain: String(issued), key } as unknown as Credential
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    },
  }
  return { certificates, asked, issued: () => issued }
}

describe('IdentityFollower', () => {
  beforeEach(() => void jest.useFakeTimers())
  afterEach(() => void jest.useRealTimers())

  function follow(key: Credential['key'], hasKey: boolean) {
    const end = new AbortController()
    const reconnect = jest.fn<() => void>()
    const { certificates, asked, issued } = issuing(key)
    const onCredential = jest.fn<() => void>()
    const follower = new IdentityFollower({
      proxy,
      certificates,
      onCredential,
      reconnect,
      signal: end.signal,
    })
    follower.begin(hasKey)
    return { follower, run: follower.run(), asked, issued, onCredential, reconnect, end }
  }

  it('asks for a certificate for the key of the proxy only where the sidecar says where it has that', async () => {
    for (const hasKey of [true, false]) {
      const { asked, run, end } = follow('proxy', hasKey)
      await jest.advanceTimersByTimeAsync(0)
      end.abort()
      await run
      expect(asked).toEqual([hasKey ? { key: 'proxy' } : {}])
    }
  })

  it('issues another certificate to a proxy that may have refused one, at most one in an interval', async () => {
    const { follower, run, issued, end } = follow('proxy', true)
    await jest.advanceTimersByTimeAsync(0)
    for (let refusals = 0; refusals < 99; refusals += 1) {
      follower.doubted()
      await jest.advanceTimersByTimeAsync(limits.refusedCertificateMs / 100)
    }
    expect(issued()).toBe(2)
    await jest.advanceTimersByTimeAsync(limits.refusedCertificateMs)
    expect(issued()).toBe(3)
    end.abort()
    await run
  })

  it('has a proxy that certainly refused its certificate come back once', async () => {
    const { follower, run, issued, onCredential, reconnect, end } = follow('proxy', true)
    await jest.advanceTimersByTimeAsync(0)
    follower.refused()
    follower.refused()
    await jest.advanceTimersByTimeAsync(limits.refusedCertificateMs)
    expect(reconnect).toHaveBeenCalledTimes(1)
    // The refused one is given up, so that no one keeps it for the next session. What comes instead is not sent.
    expect([issued(), onCredential.mock.calls.length]).toEqual([2, 1])
    end.abort()
    await run
  })

  it('leaves a certificate that came with its key as it is', async () => {
    const { follower, run, issued, reconnect, end } = follow(undefined, true)
    await jest.advanceTimersByTimeAsync(0)
    follower.doubted()
    follower.refused()
    await jest.advanceTimersByTimeAsync(limits.refusedCertificateMs)
    expect([issued(), reconnect.mock.calls.length]).toEqual([1, 0])
    end.abort()
    await run
  })
})
