import { describe, expect, it } from '@jest/globals'

import { Listeners } from './listeners.js'

describe('Listeners', () => {
  it('are called with each value until their subscription ends', () => {
    const listeners = new Listeners<number>()
    const seen: number[] = []
    const end = listeners.add((value) => seen.push(value))
    listeners.notify(1)
    listeners.notify(2)
    end()
    listeners.notify(3)
    expect(seen).toEqual([1, 2])
  })

  it('count one function that subscribes twice as two', () => {
    const listeners = new Listeners()
    let calls = 0
    const count = (): void => {
      calls += 1
    }
    const end = listeners.add(count)
    listeners.add(count)
    listeners.notify()
    end()
    listeners.notify()
    expect(calls).toBe(3)
  })

  it('are all called before the error of one is thrown', () => {
    const listeners = new Listeners()
    const fault = new Error('broken')
    let called = false
    listeners.add(() => {
      throw fault
    })
    listeners.add(() => {
      called = true
    })
    expect(() => listeners.notify()).toThrow(fault)
    expect(called).toBe(true)
  })

  it('report the errors of several together', () => {
    const listeners = new Listeners()
    for (const message of ['one', 'two'])
      listeners.add(() => {
        throw new Error(message)
      })
    expect(() => listeners.notify()).toThrow(AggregateError)
  })

  it('hand errors to the fault handler if there is one', () => {
    const faults: unknown[] = []
    const listeners = new Listeners((error) => faults.push(error))
    const fault = new Error('broken')
    listeners.add(() => {
      throw fault
    })
    listeners.notify()
    expect(faults).toEqual([fault])
  })
})
