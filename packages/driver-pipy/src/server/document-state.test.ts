import { describe, expect, it } from '@jest/globals'
import type { Credential } from '@osm-ts/driver-api'

import type { PolicyDocument } from '../document.js'
import { DocumentState } from './document-state.js'

const document = (says: string): PolicyDocument => ({
  refusals: [],
  plain: () => ({ revision: says, body: says }),
  with: ({ serialNumber }) => ({ revision: `${says}.${serialNumber}`, body: `${says} as ${serialNumber}` }),
})
const credential = (serialNumber: string): Credential => ({ chain: '', privateKey: '', expiry: '', serialNumber })

function state() {
  const documents = new DocumentState(() => 7)
  documents.setDocument(document('a'), 1)
  documents.setCredential(credential('1'))
  return documents
}

describe('what a worker should have', () => {
  it('is nothing before there is both a policy and a certificate', () => {
    const documents = new DocumentState(() => 0)
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
    const documents = new DocumentState(() => now)
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
