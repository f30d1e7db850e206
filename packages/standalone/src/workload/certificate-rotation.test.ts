import { Certificate, type Clock, type ProxyCertificate } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'

import { rotateCertificate } from './certificate-rotation.js'

const YEAR_MS = 365 * 24 * 3_600_000

/** A clock that jumps to the next timer by itself. */
class JumpingClock implements Clock {
  #now = 0
  longestTimer = 0

  now(): number {
    return this.#now
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    this.longestTimer = Math.max(this.longestTimer, delayMs)
    let isCancelled = false
    setImmediate(() => {
      if (isCancelled) return
      this.#now += delayMs
      callback()
    })
    return () => (isCancelled = true)
  }
}

const certificate = (notBefore: number, lifeMs: number): ProxyCertificate =>
  new Certificate({
    kind: 'proxy',
    commonName: 'x',
    chain: '',
    serialNumber: '1',
    notBefore,
    expiration: notBefore + lifeMs,
  })

describe('rotateCertificate', () => {
  it.each([
    [0, 0.5],
    [0.999999, 0.75],
  ])('replaces certificates between half and three quarters of their life', async (random, share) => {
    const clock = new JumpingClock()
    const ending = new AbortController()
    const installed: number[] = []
    await rotateCertificate(
      {
        certificate: certificate(0, 10 * YEAR_MS),
        issue: async () => certificate(clock.now(), 10 * YEAR_MS),
        install: () => {
          installed.push(clock.now())
          if (installed.length === 2) ending.abort()
        },
        onFailure: (error) => {
          throw error
        },
        clock,
        random: () => random,
      },
      ending.signal,
    )
    const [first = 0, second = 0] = installed
    expect(first / (10 * YEAR_MS)).toBeCloseTo(share, 4)
    expect((second - first) / (10 * YEAR_MS)).toBeCloseTo(share, 4)
    // Longer ones would fire at once.
    expect(clock.longestTimer).toBeLessThan(2 ** 31)
  })

  it('tries again when none is to be had, and tells', async () => {
    const clock = new JumpingClock()
    const ending = new AbortController()
    const failures: unknown[] = []
    let installed = 0
    await rotateCertificate(
      {
        certificate: certificate(0, 1000),
        issue: async () => {
          if (failures.length < 2) throw new Error('not now')
          return certificate(clock.now(), 1000)
        },
        install: () => {
          installed += 1
          ending.abort()
        },
        onFailure: (error) => failures.push(error),
        clock,
        random: () => 0,
      },
      ending.signal,
    )
    expect(failures).toEqual([new Error('not now'), new Error('not now')])
    expect(installed).toBe(1)
  })
})
