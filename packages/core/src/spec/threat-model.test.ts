import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'

import { grantableReferences } from './reference-grant.js'
import { allKinds } from './schema/kinds.js'

const page = (name: string): string => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')

/** First cells of the table below the line that starts with the text. */
function firstCells(text: string, heading: string): readonly string[] {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => line.startsWith(heading))
  const rows = lines.slice(start + 2)
  const end = rows.findIndex((line) => !line.startsWith('|'))
  return rows.slice(0, end).map((row) => (row.split('|')[1] ?? '').trim())
}

describe('the threat model', () => {
  it('says of every kind that the mesh reads what it may change outside its own namespace', () => {
    expect(firstCells(page('design/threat-model.md'), '| kind ')).toEqual(allKinds())
  })

  it('is in step with the references that ReferenceGrants permit', () => {
    const guide = page('guides/namespaces.md').split('\n')
    for (const { from, to } of grantableReferences)
      expect(guide.some((row) => row.startsWith(`| ${from},`) && row.includes(`kind: ${to} }`))).toBe(true)
  })
})
