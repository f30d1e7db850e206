import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { checkPlainEnglish, findPhrases } from './plain-english.mjs'

describe('the check for plain English', () => {
  it.each([
    ['The file can not be read.', 'can not'],
    ['Whoever asks is answered.', 'Whoever'],
    ['the port is open to nobody', 'nobody'],
    ['A weight of nought.', 'nought'],
    ['An API server that goes away', 'goes away'],
    ['a header name that is none', 'that is none'],
    ['the roots of before stay', 'of before'],
    ['whenever one fares otherwise', 'fares'],
    ['## Is it well?', 'Is it well'],
    ['Connections to ranges pass the sidecar by', 'pass the sidecar by'],
    ['What stands beside a workload', 'stands beside'],
    ['Nothing leaves in the clear, not for ever', 'for ever', 'in the clear'],
  ])('finds the phrase in "%s"', (text, ...phrases) => {
    expect(findPhrases('docs/a.md', text)).toEqual(
      phrases.map((phrase) => ({ file: 'docs/a.md', line: 1, text: phrase, instead: expect.any(String) })),
    )
  })

  it('finds a phrase that a line break of a comment divides', () => {
    const text = '/**\n * Holds a part and lets\n * go of another.\n */\n'
    expect(findPhrases('packages/core/src/a.ts', text)).toMatchObject([{ line: 2, text: 'lets go of' }])
  })

  it.each([
    'const nobody = principals([])',
    "const user = 'nobody'",
    'for (const { name } of before.types) use(name)',
    'none of the addresses that are none of ours',
    'cannot, again, previous',
  ])('accepts %j', (text) => {
    expect(findPhrases('packages/core/src/a.ts', text)).toEqual([])
  })

  it('accepts octets in code that follows a specification, and only there', () => {
    expect(findPhrases('packages/core/src/certificates/der.ts', '// Identifier octets.')).toEqual([])
    expect(findPhrases('packages/core/src/host/a.ts', '// So many octets.')).toHaveLength(1)
  })

  describe('of a repository', () => {
    let base: string
    beforeEach(() => {
      base = mkdtempSync(join(tmpdir(), 'osm-words-'))
      for (const folder of ['docs', 'packages/cli', 'charts', 'e2e', 'fuzz', 'examples', 'images', 'tools'])
        mkdirSync(join(base, folder), { recursive: true })
      mkdirSync(join(base, 'packages/bootstrap/crds'), { recursive: true })
      mkdirSync(join(base, 'packages/core/src/spec/schema'), { recursive: true })
      mkdirSync(join(base, 'packages/kubernetes/src/crd'), { recursive: true })
      mkdirSync(join(base, 'packages/driver-api'))
      for (const page of ['README.md', 'SECURITY.md', 'CONTRIBUTING.md']) writeFileSync(join(base, page), 'Plain.\n')
    })
    afterEach(() => rmSync(base, { recursive: true }))

    it('finds nothing in plain texts', () => {
      expect(checkPlainEnglish(base)).toEqual([])
    })

    it('names file, line and replacement, and counts by area', () => {
      writeFileSync(join(base, 'README.md'), 'Plain.\nIt can not.\n')
      writeFileSync(join(base, 'packages/cli/a.ts'), '// Made anew.\n')
      mkdirSync(join(base, 'docs/dist'))
      writeFileSync(join(base, 'docs/dist/b.md'), 'It can not.\n')
      expect(checkPlainEnglish(base)).toEqual([
        'README.md:2: "can not": write cannot',
        expect.stringMatching(/^packages\/cli\/a\.ts:1: "anew": write again/),
        expect.stringMatching(/^phrases by area: docs 1, cli 1, crds 0, driver-api 0, /),
      ])
    })
  })
})
