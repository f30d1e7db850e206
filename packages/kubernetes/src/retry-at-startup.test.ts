import { describe, expect, it } from '@jest/globals'
import { OsmError } from '@osm-ts/driver-api'

import { FakeClock } from '../../core/test/certificates/fake-clock.js'
import { MemoryLogger } from '../test/memory-logger.js'
import { KubernetesError } from './kubernetes-error.js'
import { mayPass, retryAtStartup } from './retry-at-startup.js'

const away = new KubernetesError('OSM_KUBERNETES_UNREACHABLE', 'no answer')
const wrapped = (cause?: unknown): OsmError => new OsmError('OSM_CERT_STORE_IO', 'cannot be read', { cause })

describe('an error that may pass', () => {
  it.each([
    [away, true],
    [new KubernetesError('OSM_KUBERNETES_FORBIDDEN', 'not yet', { status: 403 }), true],
    [new KubernetesError('OSM_KUBERNETES_INVALID', 'wrong', { status: 422 }), false],
    [new KubernetesError('OSM_KUBERNETES_CONFIG', 'wrong'), false],
    [wrapped(away), true],
    [wrapped(), true],
    [wrapped(new KubernetesError('OSM_KUBERNETES_INVALID', 'wrong')), false],
    [new OsmError('OSM_CERT_STORE_CORRUPT', 'broken'), false],
    [new Error('a fault'), false],
  ])('%s: %s', (error, expected) => {
    expect(mayPass(error)).toBe(expected)
  })
})

describe('what a program cannot start without', () => {
  const setUp = () => {
    const clock = new FakeClock()
    const logger = new MemoryLogger()
    const end = new AbortController()
    return { clock, logger, end, options: { clock, logger, random: () => 0.5, signal: end.signal } }
  }

  it('is tried again until it succeeds', async () => {
    const { clock, logger, options } = setUp()
    let calls = 0
    const done = retryAtStartup(
      'version',
      async () => {
        calls += 1
        if (calls < 4) throw away
        return calls
      },
      options,
    )
    await clock.pass(15_000)
    await expect(done).resolves.toBe(4)
    expect(logger.lines.map(({ fields }) => fields.step)).toEqual(['version', 'version', 'version'])
  })

  it('is given up after a minute, and at once where no waiting helps', async () => {
    const { clock, logger, options } = setUp()
    const late = retryAtStartup('version', () => Promise.reject(away), options).catch((error: unknown) => error)
    await clock.pass(70_000)
    await expect(late).resolves.toBe(away)
    const before = logger.lines.length
    const fault = new Error('a fault')
    await expect(retryAtStartup('version', () => Promise.reject(fault), options)).rejects.toBe(fault)
    expect(logger.lines).toHaveLength(before)
  })

  it('waits as long as the API server asks it to', async () => {
    const { clock, options } = setUp()
    let calls = 0
    const busy = new KubernetesError('OSM_KUBERNETES_THROTTLED', 'later', { status: 429, retryAfterMs: 20_000 })
    const done = retryAtStartup('version', async () => (++calls === 1 ? Promise.reject(busy) : calls), options)
    await clock.pass(19_000)
    expect(calls).toBe(1)
    await clock.pass(2000)
    await expect(done).resolves.toBe(2)
  })

  it('ends with the signal', async () => {
    const { end, options } = setUp()
    const waiting = retryAtStartup('version', () => Promise.reject(away), options)
    end.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })
})
