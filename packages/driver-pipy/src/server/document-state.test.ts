import { describe, expect, it } from '@jest/globals'
import type { Credential } from '@osm-ts/driver-api'

import { byKey, type CredentialNeed } from '../config/further-credentials.js'
import type { PolicyDocument } from '../document.js'
import { DocumentState } from './document-state.js'

const document = (says: string, needs: readonly CredentialNeed[] = []): PolicyDocument => ({
  refusals: [],
  needs,
  plain: () => ({ revision: says, body: says }),
  with: ({ serialNumber }, further) => {
    const others = Object.values(byKey(needs, further)).map((one) => `+${'chain' in one ? one.chain : one.headerValue}`)
    return { revision: `${says}.${serialNumber}${others.join('')}`, body: `${says} as ${serialNumber}` }
  },
})
const credential = (serialNumber: string): Credential => ({ chain: '', privateKey: '', expiry: '', serialNumber })

function state() {
  const documents = new DocumentState(() => 7, 1000)
  documents.setDocument(document('a'), 1)
  documents.setCredential(credential('1'))
  return documents
}

describe('what a worker should have', () => {
  it('is nothing before there is both a policy and a certificate', () => {
    const documents = new DocumentState(() => 0, 1000)
    expect(documents.next('')).toBeUndefined()
    documents.setCredential(credential('1'))
    expect(documents.offer).toBeUndefined()
    documents.setDocument(document('a'), 1)
    expect(documents.next('')).toMatchObject({ revision: 'a.1', body: 'a as 1', step: 1 })
    expect(documents.next('a.1')).toBeUndefined()
  })

  it('is that of the newest policy with the newest certificate', () => {
    const documents = state()
    documents.applied()
    documents.setDocument(document('b'), 2)
    expect(documents.next('a.1')?.revision).toBe('b.1')
    documents.setCredential(credential('2'))
    expect(documents.next('a.1')?.revision).toBe('b.2')
  })

  it('is as old as its content, whatever steps there were', () => {
    let now = 1
    const documents = new DocumentState(() => now, 1000)
    documents.setDocument(document('a'), 1)
    documents.setCredential(credential('1'))
    now = 2
    documents.setDocument(document('a'), 2)
    expect(documents.offer).toMatchObject({ at: 1, step: 2 })
  })

  it('is not offered again once refused, and comes with the policy before when the certificate is replaced', () => {
    const documents = state()
    documents.applied()
    documents.setDocument(document('bad'), 2)
    expect(documents.refuse('bad.1')).toBe(true)
    expect(documents.refuse('bad.1')).toBe(false)
    expect(documents.next('a.1')).toBeUndefined()
    documents.setCredential(credential('2'))
    expect(documents.next('a.1')?.revision).toBe('a.2')
    documents.applied()
    // Another step of the policy that says the same is refused as well.
    documents.setDocument(document('bad'), 3)
    expect(documents.next('a.2')).toBeUndefined()
    documents.setDocument(document('good'), 4)
    expect(documents.next('a.2')?.revision).toBe('good.2')
  })

  it('waits for another certificate if the one before was refused with a policy that had been taken', () => {
    const documents = state()
    documents.applied()
    documents.setCredential(credential('bad'))
    expect(documents.refuse('a.bad')).toBe(true)
    expect(documents.next('a.1')).toBeUndefined()
    documents.setCredential(credential('2'))
    expect(documents.next('a.1')?.revision).toBe('a.2')
  })

  it('is nothing if the first one is refused, until there is another', () => {
    const documents = state()
    expect(documents.refuse('other')).toBe(false)
    expect(documents.refuse('a.1')).toBe(true)
    expect(documents.next('')).toBeUndefined()
    documents.setDocument(document('b'), 2)
    expect(documents.next('')?.revision).toBe('b.1')
  })
})

describe('what a worker should have of further credentials', () => {
  const need = (name: string): CredentialNeed => ({
    key: `secret/shop/${name}`,
    ref: { kind: 'secret', namespace: 'shop', name },
    users: [],
  })
  const a = need('a')
  const b = need('b')
  const shown = (chain: string): Credential => ({ ...credential('x'), chain })
  /** A worker that has taken a policy without any, 5 ms before another one names some. */
  function naming(...needs: readonly CredentialNeed[]) {
    const clock = { now: 5 }
    const documents = new DocumentState(() => clock.now, 1000)
    documents.setCredential(credential('1'))
    documents.setDocument(document('none'), 1)
    documents.applied()
    documents.setDocument(document('some', needs), 2)
    return { documents, clock }
  }

  it('is what the policy names, and the policy waits until it is there', () => {
    const { documents } = naming(a, b)
    expect(documents.offer?.revision).toBe('none.1')
    documents.setFurther(a.key, shown('a1'))
    expect(documents.giveUpWaiting()).toBe(false)
    expect(documents.offer?.revision).toBe('none.1')
    documents.setFurther(b.key, shown('b1'))
    expect(documents.offer).toMatchObject({ revision: 'some.1+a1+b1', missing: [], step: 2 })
  })

  it('is another document whenever one is replaced', () => {
    const { documents } = naming(a)
    documents.setFurther(a.key, shown('a1'))
    documents.applied()
    documents.setFurther(a.key, shown('a2'))
    expect(documents.next('some.1+a1')?.revision).toBe('some.1+a2')
  })

  it('is waited for, but not forever, and once: the next policy does not wait for it again', () => {
    const { documents, clock } = naming(a, b)
    documents.setFurther(a.key, shown('a1'))
    clock.now = 1004
    expect(documents.giveUpWaiting()).toBe(false)
    clock.now = 1005
    expect(documents.giveUpWaiting()).toBe(true)
    expect(documents.offer).toMatchObject({ revision: 'some.1+a1', missing: [b] })
    expect(documents.giveUpWaiting()).toBe(false)
    documents.setDocument(document('more', [a, b]), 3)
    expect(documents.offer).toMatchObject({ revision: 'more.1+a1', missing: [b] })
    documents.setFurther(b.key, shown('b1'))
    expect(documents.offer).toMatchObject({ revision: 'more.1+a1+b1', missing: [] })
  })

  it('is the value of a header where that is what is behind its name', () => {
    const header: CredentialNeed = { key: 'egress/log', ref: { kind: 'egress', name: 'log' }, users: [] }
    const { documents } = naming(header)
    documents.setFurther(header.key, { ...credential(''), headerValue: 'Basic' })
    expect(documents.offer?.revision).toBe('some.1+Basic')
  })

  it('is forgotten with the policies that name it', () => {
    const { documents } = naming(a)
    documents.setFurther(a.key, shown('a1'))
    documents.applied()
    documents.setDocument(document('none'), 3)
    documents.applied()
    documents.setDocument(document('none'), 4)
    documents.setDocument(document('some', [a]), 5)
    expect(documents.offer).toMatchObject({ revision: 'none.1', step: 4 })
  })
})
