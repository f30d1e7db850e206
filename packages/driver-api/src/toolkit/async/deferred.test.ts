import { describe, expect, it } from '@jest/globals'

import { deferred } from './deferred.js'

describe('a deferred promise', () => {
  it('has the value that it is resolved with', async () => {
    const { promise, resolve } = deferred<string>()
    resolve('value')
    await expect(promise).resolves.toBe('value')
  })

  it('has the reason that it is rejected with', async () => {
    const { promise, reject } = deferred<never>()
    reject(new Error('no value'))
    await expect(promise).rejects.toThrow('no value')
  })

  it('keeps the first outcome', async () => {
    const { promise, resolve, reject } = deferred<number>()
    resolve(1)
    resolve(2)
    reject(new Error('too late'))
    await expect(promise).resolves.toBe(1)
  })

  it('is pending until it is settled', async () => {
    const { promise, resolve } = deferred<string>()
    const other = Promise.resolve('other')
    await expect(Promise.race([promise, other])).resolves.toBe('other')
    resolve('settled')
    await expect(promise).resolves.toBe('settled')
  })
})
