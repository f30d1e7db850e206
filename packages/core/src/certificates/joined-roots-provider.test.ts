import { beforeAll, describe, expect, it } from '@jest/globals'

import { MemoryCaStore } from './ca-store.js'
import { systemClock } from './clock.js'
import { JoinedRootsProvider, type OtherRoots } from './joined-roots-provider.js'
import { TresorProvider } from './tresor-provider.js'

class FakeRoots implements OtherRoots {
  roots: readonly string[] = []
  readonly #listeners = new Set<() => void>()

  current(): readonly string[] {
    return this.roots
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  faults() {
    return [
      {
        provider: 'workload-api',
        authority: 'workload',
        code: 'OSM_CERT_WORKLOAD_API',
        severity: 'warning',
        message: 'no answer',
        since: 0,
      },
    ] as const
  }

  change(...roots: readonly string[]): void {
    this.roots = roots
    for (const listener of this.#listeners) listener()
  }
}

describe('JoinedRootsProvider', () => {
  let own: TresorProvider
  beforeAll(async () => {
    own = await TresorProvider.open({
      store: new MemoryCaStore(),
      clock: systemClock,
      rootKey: { algorithm: 'ECDSA' },
    })
  })

  it('trusts other roots after its own, and for workloads only', () => {
    const others = new FakeRoots()
    const provider = new JoinedRootsProvider(own, others)
    others.change('other')
    expect(provider.trustBundle('workload')).toEqual([...own.trustBundle('workload'), 'other'])
    expect(provider.trustBundle('control-plane')).toEqual(own.trustBundle('control-plane'))
    expect(provider.rootCertificate('workload')).toBe(own.rootCertificate('workload'))
  })

  it('lists a root once that both have', () => {
    const others = new FakeRoots()
    others.change(`${own.rootCertificate('workload').chain.trim()}\n\n`)
    expect(new JoinedRootsProvider(own, others).trustBundle('workload')).toEqual(own.trustBundle('workload'))
  })

  it('announces other roots, and not that the same ones were found again', () => {
    const others = new FakeRoots()
    const changes: string[] = []
    const end = new JoinedRootsProvider(own, others).onRootChange((authority) => changes.push(authority))
    others.change('a')
    others.change('a')
    others.change('a', 'b')
    end()
    others.change()
    expect(changes).toEqual(['workload', 'workload'])
  })

  it('tells the faults of both', () => {
    const codes = new JoinedRootsProvider(own, new FakeRoots()).faults().map(({ code }) => code)
    expect(codes).toEqual([...own.faults().map(({ code }) => code), 'OSM_CERT_WORKLOAD_API'])
  })
})
