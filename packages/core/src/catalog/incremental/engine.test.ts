import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { Engine, touched } from './engine.js'
import { defineInput, defineQuery, textKey, type Query } from './query.js'

type Cells = readonly number[]

const cell = defineInput<Cells, number, number>({ name: 'cell', keyOf: String, read: (cells, key) => cells[key] ?? 0 })

function engineWith(cells: Cells): Engine<Cells> {
  return new Engine<Cells>(cells)
}

/** Changes one cell. */
function write(engine: Engine<Cells>, cells: Cells, index: number, value: number): Cells {
  const next = cells.with(index, value)
  engine.update(next, [touched(cell, index)])
  return next
}

const counts = (engine: Engine<Cells>, name: string) =>
  engine.counters().get(name) ?? { computed: 0, changed: 0, verified: 0 }

describe('Engine', () => {
  const parity = defineQuery<Cells, number, number>({
    name: 'parity',
    keyOf: String,
    compute: (context, key) => Math.abs(context.get(cell, key)) % 2,
  })
  const odd = defineQuery<Cells, number, string>({
    name: 'odd',
    keyOf: String,
    compute: (context, key) => (context.get(parity, key) === 1 ? 'odd' : 'even'),
  })

  it('computes a value once while nothing changes', () => {
    const engine = engineWith([1])
    expect(engine.get(odd, 0)).toBe('odd')
    expect(engine.get(odd, 0)).toBe('odd')
    expect(counts(engine, 'odd').computed).toBe(1)
  })

  it('reads an input once for a change, however often the change names it', () => {
    let reads = 0
    const counted = defineInput<Cells, number, number>({
      name: 'counted',
      keyOf: String,
      read: (cells, key) => {
        reads += 1
        return cells[key] ?? 0
      },
    })
    const engine = engineWith([1])
    const copy = defineQuery<Cells, number, number>({
      name: 'copy',
      keyOf: String,
      compute: (context, key) => context.get(counted, key),
    })
    engine.get(copy, 0)
    engine.update(
      [2],
      Array.from({ length: 100 }, () => touched(counted, 0)),
    )
    expect(reads).toBe(2)
    expect(engine.get(copy, 0)).toBe(2)
  })

  it('stops a change where a result comes out equal', () => {
    const engine = engineWith([1])
    engine.get(odd, 0)
    engine.resetCounters()
    write(engine, [1], 0, 3)
    expect(engine.get(odd, 0)).toBe('odd')
    expect(counts(engine, 'parity')).toEqual({ computed: 1, changed: 0, verified: 0 })
    expect(counts(engine, 'odd')).toEqual({ computed: 0, changed: 0, verified: 1 })
  })

  it('leaves what did not read the changed input untouched, not even verified', () => {
    const engine = engineWith([1, 2])
    engine.get(odd, 0)
    engine.get(odd, 1)
    engine.resetCounters()
    write(engine, [1, 2], 1, 5)
    engine.get(odd, 0)
    engine.get(odd, 1)
    expect(counts(engine, 'odd')).toEqual({ computed: 1, changed: 1, verified: 0 })
  })

  it('follows dependencies that change with the data, and drops those no longer read', () => {
    const either = defineQuery<Cells, string, number>({
      name: 'either',
      keyOf: textKey,
      compute: (context) => (context.get(cell, 0) === 0 ? context.get(cell, 1) : context.get(cell, 2)),
    })
    const engine = engineWith([0, 10, 20])
    expect(engine.get(either, '')).toBe(10)
    let cells = write(engine, [0, 10, 20], 0, 1)
    expect(engine.get(either, '')).toBe(20)
    engine.resetCounters()
    cells = write(engine, cells, 1, 11)
    expect(engine.get(either, '')).toBe(20)
    expect(counts(engine, 'either').computed).toBe(0)
    write(engine, cells, 2, 21)
    expect(engine.get(either, '')).toBe(21)
  })

  it('does not look at later dependencies once an earlier one changed', () => {
    const guarded = defineQuery<Cells, number, number>({
      name: 'guarded',
      keyOf: String,
      compute: (context, key) => {
        const divisor = context.get(cell, key)
        if (divisor === 0) throw new Error('division by zero')
        return 100 / divisor
      },
    })
    const nonZero = defineQuery<Cells, string, boolean>({
      name: 'nonZero',
      keyOf: textKey,
      compute: (context) => context.get(cell, 0) !== 0,
    })
    const safe = defineQuery<Cells, string, number>({
      name: 'safe',
      keyOf: textKey,
      compute: (context) => (context.get(nonZero, '') ? context.get(guarded, 0) : -1),
    })
    const engine = engineWith([4])
    expect(engine.get(safe, '')).toBe(25)
    write(engine, [4], 0, 0)
    expect(engine.get(safe, '')).toBe(-1)
  })

  it('names the path of a cycle, and works on after it', () => {
    const left: Query<Cells, string, number> = defineQuery({
      name: 'left',
      keyOf: textKey,
      compute: (context) => (context.get(cell, 0) === 0 ? 0 : context.get(right, 'b') + 1),
    })
    const right: Query<Cells, string, number> = defineQuery({
      name: 'right',
      keyOf: textKey,
      compute: (context) => context.get(left, 'a') + 1,
    })
    const engine = engineWith([1])
    expect(() => engine.get(left, 'a')).toThrow('left(a) → right(b) → left(a)')
    write(engine, [1], 0, 0)
    expect(engine.get(right, 'b')).toBe(1)
  })

  it('does not cache a value whose computation swallowed a failure', () => {
    const failing = defineQuery<Cells, string, number>({
      name: 'failing',
      keyOf: textKey,
      compute: (context) => {
        if (context.get(cell, 0) === 0) throw new Error('no')
        return 1
      },
    })
    const careless = defineQuery<Cells, string, number>({
      name: 'careless',
      keyOf: textKey,
      compute: (context) => {
        try {
          return context.get(failing, '')
        } catch {
          return -1
        }
      },
    })
    const engine = engineWith([0])
    expect(() => engine.get(careless, '')).toThrow('no')
    write(engine, [0], 0, 1)
    expect(engine.get(careless, '')).toBe(1)
  })

  it('refuses to be used from inside a computation, and contexts that outlive theirs', () => {
    const engine = engineWith([1])
    const inside = defineQuery<Cells, string, number>({
      name: 'inside',
      keyOf: textKey,
      compute: () => engine.get(cell, 0),
    })
    expect(() => engine.get(inside, '')).toThrow('inside() calls get')
    const leaking = defineQuery<Cells, string, () => number>({
      name: 'leaking',
      keyOf: textKey,
      compute: (context) => () => context.get(cell, 0),
    })
    expect(() => engine.get(leaking, '')()).toThrow('outside of its own computation')
  })

  it('keeps the older of two equal values, or what the query makes of both', () => {
    interface Box {
      readonly parity: number
      readonly seen: number
    }
    const box = (name: string, more: Partial<Query<Cells, string, Box>>) =>
      defineQuery<Cells, string, Box>({
        name,
        keyOf: textKey,
        equal: (a, b) => a.parity === b.parity,
        compute: (context) => ({ parity: context.get(parity, 0), seen: context.get(cell, 0) }),
        ...more,
      })
    const keep = box('keep', {})
    const fresh = box('fresh', { whenEqual: (before, after) => ({ ...before, seen: after.seen }) })
    const engine = engineWith([1])
    engine.get(keep, '')
    engine.get(fresh, '')
    write(engine, [1], 0, 3)
    expect(engine.get(keep, '').seen).toBe(1)
    expect(engine.get(fresh, '').seen).toBe(3)
  })

  it('fails who reads an input that cannot be read, and no one else, until it can be read again', () => {
    let isBroken = false
    const fragile = defineInput<Cells, number, number>({
      name: 'fragile',
      keyOf: String,
      read: (cells, key) => {
        if (isBroken && key === 0) throw new Error('cannot be read')
        return cells[key] ?? 0
      },
    })
    const twice = defineQuery<Cells, number, number>({
      name: 'twice',
      keyOf: String,
      compute: (context, key) => 2 * context.get(fragile, key),
    })
    const engine = engineWith([1, 2])
    for (const at of [0, 1]) engine.pin(twice, at)
    for (const at of [0, 1]) engine.get(twice, at)
    const both = [touched(fragile, 0), touched(fragile, 1)]
    isBroken = true
    engine.update([1, 3], both)
    expect(engine.outdated(twice)).toEqual([0, 1])
    expect(() => engine.get(twice, 0)).toThrow('cannot be read')
    expect(engine.get(twice, 1)).toBe(6)
    expect(engine.outdated(twice)).toEqual([0])
    isBroken = false
    engine.update([5, 3], both)
    expect([engine.get(twice, 0), engine.get(twice, 1)]).toEqual([10, 6])
  })

  it('reports pinned values that a change may have affected until they are read', () => {
    const engine = engineWith([1, 1])
    engine.pin(odd, 0)
    engine.pin(odd, 1)
    expect(engine.outdated(odd)).toEqual([0, 1])
    engine.get(odd, 0)
    engine.get(odd, 1)
    expect(engine.outdated(odd)).toEqual([])
    let cells = write(engine, [1, 1], 1, 2)
    cells = write(engine, cells, 1, 4)
    expect(engine.outdated(odd)).toEqual([1])
    engine.get(odd, 1)
    engine.unpin(odd, 1)
    write(engine, cells, 1, 5)
    expect(engine.outdated(odd)).toEqual([])
  })

  it('forgets what no one reads, and keeps what is pinned with all below it', () => {
    const engine = engineWith([1, 2])
    engine.pin(odd, 0)
    engine.get(odd, 0)
    engine.get(odd, 1)
    expect(engine.size).toBe(6)
    engine.collect()
    expect(engine.size).toBe(3)
    engine.unpin(odd, 0)
    engine.collect()
    expect(engine.size).toBe(0)
    expect(() => engine.unpin(odd, 0)).toThrow('not pinned')
  })
})

/** One query of a random program: what it reads, and how it makes a value of it. Queries read lower ones only. */
interface Step {
  readonly reads: readonly number[]
  readonly branchOn: number
  readonly modulus: number
}

const CELLS = 4
const STEPS = 8

/** The same program, computed without any engine. */
function fromScratch(program: readonly Step[], cells: Cells, step: number): number {
  return evaluate(program[step] as Step, step, (n) =>
    n < CELLS ? (cells[n] as number) : fromScratch(program, cells, n - CELLS),
  )
}

function evaluate(step: Step, index: number, read: (n: number) => number): number {
  const visible = CELLS + index
  const selector = read(step.branchOn % visible)
  // Half of the reads happen only for odd selectors, so that dependencies come and go.
  const chosen = step.reads.filter((_, position) => (position + selector) % 2 === 0)
  return chosen.reduce((sum, n) => sum + read(n % visible), selector) % step.modulus
}

const programs = fc.array(
  fc.record({
    reads: fc.array(fc.nat(CELLS + STEPS), { maxLength: 4 }),
    branchOn: fc.nat(CELLS + STEPS),
    // Small moduli make equal results common.
    modulus: fc.integer({ min: 1, max: 4 }),
  }),
  { minLength: STEPS, maxLength: STEPS },
)

const actions = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('write' as const), at: fc.nat(CELLS - 1), value: fc.nat(5) }),
    fc.record({ type: fc.constant('read' as const), at: fc.nat(STEPS - 1), value: fc.constant(0) }),
    fc.record({ type: fc.constant('pin' as const), at: fc.nat(STEPS - 1), value: fc.constant(0) }),
    fc.record({ type: fc.constant('unpin' as const), at: fc.nat(STEPS - 1), value: fc.constant(0) }),
    fc.record({ type: fc.constant('collect' as const), at: fc.constant(0), value: fc.constant(0) }),
  ),
  { maxLength: 40 },
)

describe('Engine on random programs', () => {
  it('always gives what a computation from scratch gives', () => {
    fc.assert(
      fc.property(programs, actions, (program, script) => {
        const step: Query<Cells, number, number> = defineQuery<Cells, number, number>({
          name: 'step',
          keyOf: String,
          compute: (context, key) =>
            evaluate(program[key] as Step, key, (n) =>
              n < CELLS ? context.get(cell, n) : context.get(step, n - CELLS),
            ),
        })
        let cells: Cells = new Array<number>(CELLS).fill(0)
        const engine = engineWith(cells)
        const pins = new Map<number, number>()
        for (const { type, at, value } of script) {
          const pinned = pins.get(at) ?? 0
          if (type === 'write') cells = write(engine, cells, at, value)
          if (type === 'read') expect(engine.get(step, at)).toBe(fromScratch(program, cells, at))
          if (type === 'collect') engine.collect()
          if (type === 'pin') {
            engine.pin(step, at)
            pins.set(at, pinned + 1)
          }
          if (type === 'unpin' && pinned > 0) {
            engine.unpin(step, at)
            pins.set(at, pinned - 1)
          }
        }
        for (let at = 0; at < STEPS; at += 1) expect(engine.get(step, at)).toBe(fromScratch(program, cells, at))
        for (const [at, pinned] of pins) for (let n = 0; n < pinned; n += 1) engine.unpin(step, at)
        engine.collect()
        expect(engine.size).toBe(0)
      }),
      { numRuns: 400 },
    )
  })

  it('computes nothing of which no input changed', () => {
    fc.assert(
      fc.property(programs, fc.nat(CELLS - 1), fc.nat(STEPS - 1), (program, at, root) => {
        const computed: number[] = []
        const step: Query<Cells, number, number> = defineQuery<Cells, number, number>({
          name: 'step',
          keyOf: String,
          compute: (context, key) => {
            computed.push(key)
            return evaluate(program[key] as Step, key, (n) =>
              n < CELLS ? context.get(cell, n) : context.get(step, n - CELLS),
            )
          },
        })
        const cells: Cells = [1, 2, 3, 4]
        const engine = engineWith(cells)
        engine.get(step, root)
        const before = new Set(computed)
        computed.length = 0
        write(engine, cells, at, 9)
        engine.get(step, root)
        expect(new Set(computed).size).toBe(computed.length)
        for (const key of computed) if (before.has(key)) expect(cellsBelow(program, cells, key)).toContain(at)
      }),
      { numRuns: 400 },
    )
  })
})

function cellsBelow(program: readonly Step[], cells: Cells, step: number): ReadonlySet<number> {
  const found = new Set<number>()
  const visit = (index: number): number =>
    evaluate(program[index] as Step, index, (n) => {
      if (n >= CELLS) return visit(n - CELLS)
      found.add(n)
      return cells[n] as number
    })
  visit(step)
  return found
}
