import { describe, expect, it } from '@jest/globals'

import type { SnapshotUpdate } from '../snapshot/index.js'
import { type AnnouncedAccounts, Announcements } from './announcements.js'

const buyer = { namespace: 'shop', name: 'buyer' }
// Announcements never look into what an update of objects holds.
const spec = {} as SnapshotUpdate

function announced(...updates: readonly Parameters<Announcements['note']>[0][]): readonly AnnouncedAccounts[] {
  const heard: AnnouncedAccounts[] = []
  const announcements = new Announcements()
  announcements.add((accounts) => heard.push(accounts))
  for (const update of updates) announcements.note(update)
  announcements.announce()
  return heard
}

describe('announcements of the catalog', () => {
  it('name no account for an edited object that no endpoints provider announces', () => {
    expect(announced({ spec })).toEqual([[]])
  })

  it('name the accounts of endpoints that change together with objects', () => {
    expect(announced({ spec, endpoints: { services: [], accounts: [buyer] } })).toEqual([[buyer]])
    expect(announced({ spec }, { endpoints: { services: [], accounts: [buyer] } })).toEqual([[buyer]])
  })

  it('name no one where only roots or Secrets change', () => {
    expect(announced({ roots: ['root'] }, { secrets: new Map() })).toEqual([])
  })
})
