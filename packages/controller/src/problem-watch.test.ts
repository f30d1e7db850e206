import type { Clock, Problem, Steps } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'

import { ProblemWatch } from './problem-watch.js'

const problem: Problem = { code: 'OSM_SPEC_SCHEMA', severity: 'error', message: 'is missing' }

/** A watch whose time stands still until {@link Fixture.look} lets it look again. */
class Fixture {
  searches = 0
  busy: boolean
  changed = (): void => undefined
  readonly watch: ProblemWatch
  readonly #end = new AbortController()
  readonly #finished: Promise<void>
  #wake: (() => void) | undefined
  #asleep = (): void => undefined

  constructor(busy = false) {
    this.busy = busy
    const clock: Clock = {
      now: () => 0,
      setTimer: (callback) => {
        this.#wake = callback
        this.#asleep()
        return () => undefined
      },
    }
    this.watch = new ProblemWatch({
      find: () => this.#find(),
      subscribe: (listener) => {
        this.changed = listener
        return () => undefined
      },
      clock,
      busy: () => this.busy,
    })
    this.#finished = this.watch.run(this.#end.signal)
  }

  /** Lets the watch look once, and resolves when it rests. */
  async look(): Promise<void> {
    const asleep = new Promise<void>((resolve) => {
      this.#asleep = resolve
    })
    this.#wake?.()
    await asleep
  }

  async end(): Promise<void> {
    this.#end.abort()
    await this.#finished
  }

  *#find(): Steps<readonly Problem[]> {
    this.searches += 1
    yield
    return [problem]
  }
}

describe('ProblemWatch', () => {
  it('finds problems out once for everybody who tells of them, and again only when they may have changed', async () => {
    const fixture = new Fixture()
    const told: string[] = []
    fixture.watch.subscribe(() => told.push('log'))
    fixture.watch.subscribe(() => told.push('status'))
    await fixture.watch.found(new AbortController().signal)
    expect(fixture.watch.current()).toEqual([problem])
    expect(told).toEqual(['log', 'status'])
    await fixture.look()
    expect(fixture.searches).toBe(1)
    fixture.changed()
    await fixture.look()
    expect(fixture.searches).toBe(2)
    fixture.watch.touch()
    await fixture.look()
    expect(fixture.searches).toBe(3)
    expect(told).toHaveLength(6)
    await fixture.end()
  })

  it('searches for the first time when the first policies are computed', async () => {
    const fixture = new Fixture(true)
    await fixture.look()
    expect(fixture.searches).toBe(0)
    fixture.busy = false
    await fixture.look()
    expect(fixture.searches).toBe(1)
    fixture.busy = true
    fixture.changed()
    await fixture.look()
    expect(fixture.searches).toBe(2)
    await fixture.end()
  })

  it('searches after ten seconds although policies are still computed', async () => {
    const fixture = new Fixture(true)
    for (let look = 0; fixture.searches === 0 && look < 600; look += 1) await fixture.look()
    expect(fixture.searches).toBe(1)
    await fixture.end()
  })

  it('has anyone who waits for the first problems go on when the program ends', async () => {
    const end = new AbortController()
    const watch = new ProblemWatch({
      *find() {
        yield
        return []
      },
      subscribe: () => () => undefined,
      clock: { now: () => 0, setTimer: () => () => undefined },
      busy: () => false,
    })
    const waiting = watch.found(end.signal)
    end.abort()
    await waiting
    expect(watch.current()).toBeUndefined()
  })
})
