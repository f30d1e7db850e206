import { describe, expect, it } from '@jest/globals'
import { checkChangesets, nextVersion, parseChangeset, releaseNotes, withRelease } from './changesets.mjs'

const known = ['@osm-ts/core', '@osm-ts/cli']
const changeset = (bump: string, summary = 'Says what changes.') =>
  parseChangeset('one', `---\n'@osm-ts/core': ${bump}\n'@osm-ts/cli': patch\n---\n\n${summary}\n`, known)

describe('parseChangeset', () => {
  it('reads packages, the highest bump and the summary', () => {
    expect(changeset('minor')).toEqual({
      name: 'one',
      packages: known,
      bump: 'minor',
      summary: 'Says what changes.',
    })
  })

  it.each([
    ['nothing', 'expected packages between two lines of ---'],
    ['---\n{\n---\n\nText', 'Flow map'],
    ['---\n\n---\n\nText', 'expected at least one package'],
    ["---\n'@osm-ts/none': patch\n---\n\nText", '@osm-ts/none: expected a package of this repository'],
    ["---\n'@osm-ts/core': small\n---\n\nText", '@osm-ts/core: expected one of major, minor, patch, got small'],
    ["---\n'@osm-ts/core': patch\n---\n\n", 'expected a summary'],
  ])('refuses %j and names the file', (text, message) => {
    expect(() => parseChangeset('two', text, known)).toThrow(`.changeset/two.md: ${message}`)
  })
})

describe('the changesets of this repository', () => {
  it('are valid, and the changelog repeats none of them', () => {
    expect(checkChangesets()).toEqual([])
  })
})

describe('nextVersion', () => {
  it.each([
    [['patch'], '0.1.1'],
    [['patch', 'minor'], '0.2.0'],
    [['major', 'minor'], '1.0.0'],
    [[], '0.1.0'],
  ])('follows the highest bump of %j', (bumps, expected) => {
    expect(
      nextVersion(
        '0.1.0',
        bumps.map((bump) => changeset(bump)),
      ),
    ).toBe(expected)
  })
})

describe('releaseNotes', () => {
  it('lists each change once, with all its packages and paragraphs, before earlier releases', () => {
    const notes = releaseNotes('0.2.0 (2026-11-26)', [changeset('patch', 'First.\n\n- point'), changeset('minor')])
    expect(notes).toBe(
      '## 0.2.0 (2026-11-26)\n\n### Minor changes\n\n- **core, cli**: Says what changes.\n\n### Patch changes\n\n- **core, cli**: First.\n\n  - point\n',
    )
    expect(withRelease('# Changelog\n\nText.\n', notes)).toBe(`# Changelog\n\nText.\n\n${notes}`)
    expect(withRelease('# Changelog\n\n## 0.1.0\n\nOld.\n', notes)).toBe(`# Changelog\n\n${notes}\n## 0.1.0\n\nOld.\n`)
  })
})
