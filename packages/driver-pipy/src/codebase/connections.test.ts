import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { leaveSlot, linkClosed, linkOpened, makePool, openLink, takeSlot } from '../../codebase/connections.js'

interface Slot {
  readonly link: object
}

interface Wish {
  readonly key: string
  readonly limits: object
  slot?: Slot
  given?: Slot
}

const poolOf = () => {
  const ended: object[] = []
  return { ended, pool: makePool((link: object) => void ended.push(link)) }
}

const wish = (limits: object = {}, extra: object = {}): Wish => {
  const own = {
    key: 'a',
    address: 'a:1',
    capacity: 1,
    limits,
    give: (slot: Slot) => {
      own.given = slot
    },
    ...extra,
  } as Wish
  return own
}

/** Takes a connection that is there at once. */
const connected = (pool: object, asked: Wish): Slot => {
  const slot = takeSlot(pool, asked) as Slot
  linkOpened(pool, slot.link)
  return slot
}

describe('connections of an upstream', () => {
  it('are used again once nothing is under way on them, and shared as far as they can be', () => {
    const { pool } = poolOf()
    const first = wish()
    const slot = connected(pool, first)
    expect(takeSlot(pool, wish())).not.toBe(slot)
    leaveSlot(pool, first, true)
    expect(takeSlot(pool, wish())).toBe(slot)
    expect(takeSlot(pool, wish({}, { key: 'b' }))).not.toBe(slot)
    const many = connected(pool, wish({}, { key: 'c', capacity: 2 }))
    expect(takeSlot(pool, wish({}, { key: 'c', capacity: 2 }))).toBe(many)
    expect(takeSlot(pool, wish({}, { key: 'c', capacity: 2 }))).not.toBe(many)
  })

  it('are kept from others while a request may have to be cut off', () => {
    const { pool } = poolOf()
    const whole = wish({}, { capacity: 100, isWhole: true })
    const slot = connected(pool, whole)
    expect(takeSlot(pool, wish({}, { capacity: 100 }))).not.toBe(slot)
    leaveSlot(pool, whole, true)
    expect(takeSlot(pool, wish({}, { capacity: 100 }))).toBe(slot)
  })

  it('wait for their turn, and are full when too many do', () => {
    const { pool } = poolOf()
    const limits = { maxConnections: 1, maxPending: 1 }
    const first = wish(limits)
    const slot = connected(pool, first)
    const second = wish(limits)
    expect(takeSlot(pool, second)).toBe('wait')
    expect(takeSlot(pool, wish(limits))).toBe('full')
    leaveSlot(pool, first, true)
    expect(second.given).toBe(slot)
    expect(takeSlot(pool, wish(limits))).toBe('wait')
  })

  it('count as awaited until they are there', () => {
    const { pool } = poolOf()
    const limits = { maxPending: 1 }
    const slot = takeSlot(pool, wish(limits)) as Slot
    expect(takeSlot(pool, wish(limits))).toBe('full')
    linkOpened(pool, slot.link)
    expect(takeSlot(pool, wish(limits))).not.toBe('full')
  })

  it('end when somebody leaves in the middle of an answer, or when they have carried enough', () => {
    const { pool, ended } = poolOf()
    const left = wish()
    const first = connected(pool, left)
    leaveSlot(pool, left, false)
    expect(ended).toEqual([first.link])
    const limits = { maxRequestsPerConnection: 2 }
    const one = wish(limits)
    const second = connected(pool, one)
    leaveSlot(pool, one, true)
    expect(takeSlot(pool, one)).toBe(second)
    leaveSlot(pool, one, true)
    expect(ended).toEqual([first.link, second.link])
  })

  it('make room for those of another endpoint when they are idle', () => {
    const { pool, ended } = poolOf()
    const limits = { maxConnections: 1 }
    const first = wish(limits)
    const slot = connected(pool, first)
    const other = wish(limits, { key: 'b' })
    expect(takeSlot(pool, other)).toBe('wait')
    leaveSlot(pool, first, true)
    expect(ended).toEqual([slot.link])
    expect(other.given).toBeDefined()
  })

  it('that fail give their place to what waits', () => {
    const { pool } = poolOf()
    const limits = { maxConnections: 1 }
    const first = wish(limits)
    const slot = takeSlot(pool, first) as Slot
    const second = wish(limits)
    expect(takeSlot(pool, second)).toBe('wait')
    linkClosed(pool, slot.link)
    expect(second.given).toBeDefined()
    leaveSlot(pool, first, false)
    expect(pool.open).toBe(1)
  })

  it('of TCP are no more than may be', () => {
    const { pool } = poolOf()
    const link = openLink(pool, { maxConnections: 1 }, 'a:1') as object
    expect(openLink(pool, { maxConnections: 1 }, 'a:1')).toBeUndefined()
    linkClosed(pool, link)
    linkClosed(pool, link)
    expect(openLink(pool, { maxConnections: 1 }, 'a:1')).toBeDefined()
    expect(openLink(pool, {}, 'a:1')).toBeDefined()
  })

  it('are never more than may be, and nothing waits while there is room, whatever happens', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 50 }), fc.boolean()), { maxLength: 60 }),
        (maxConnections, steps) => {
          const { pool } = poolOf()
          const open: Wish[] = []
          for (const [what, which, flag] of steps) {
            const chosen = open[which % Math.max(open.length, 1)]
            if (what <= 1 || chosen === undefined) {
              const next = wish({ maxConnections }, { key: flag ? 'a' : 'b' })
              takeSlot(pool, next)
              open.push(next)
            } else if (what === 2) {
              open.splice(open.indexOf(chosen), 1)
              leaveSlot(pool, chosen, flag)
            } else if (chosen.slot !== undefined) {
              if (flag) linkOpened(pool, chosen.slot.link)
              else linkClosed(pool, chosen.slot.link)
            }
            expect(pool.open).toBeLessThanOrEqual(maxConnections)
            if (pool.waiting.length > 0) expect(pool.open).toBe(maxConnections)
          }
          for (const each of open) leaveSlot(pool, each, true)
          expect([pool.pending, pool.waiting.length]).toEqual([0, 0])
        },
      ),
    )
  })
})
