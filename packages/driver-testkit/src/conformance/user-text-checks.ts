import { canonicalJson } from '@osm-ts/driver-api/policy'
import { parse } from 'yaml'

import { type Check, expect, type Subject } from './check.js'
import { patchOrRefusal } from './patch-checks.js'
import { PatchContexts, userTexts } from './patch-contexts.js'
import { type PatchText, patchTexts } from './patch-texts.js'

/** Stands in every text, so that what became of it can be found. */
const MARK = 'kitmark'

/** What shells, templates, option parsers and formats of files trip over. */
const hostileTexts = [
  `${MARK}"; touch /tmp/${MARK}; echo "$(id)\`id\``,
  `${MARK}\nsecond: line\r\n}}]`,
  `${MARK}'%{#[\\\\]}<>|&*?~ \${HOME} {{ .Values }} <%= 1 %>`,
  `${MARK}\u0000\u2028\u202e`,
  `--${MARK}=1`,
]

/** What becomes of users' words. */
export const userTextChecks: readonly Check[] = Object.entries(userTexts).map(([field, contextOf]) => ({
  id: `patch.user-text.${field}`,
  proves: `no text of ${field} reaches a command line, a path or the structure of a file`,
  prove: async (subject) => {
    const contexts = new PatchContexts(subject)
    const plain = contexts.declared(contextOf(MARK))
    for (const text of hostileTexts)
      for (const [index, context] of contexts.declared(contextOf(text)).entries())
        expectHarmless(text, await texts(subject, context, text), await texts(subject, plain[index] ?? context, MARK))
  },
}))

async function texts(subject: Subject, context: Parameters<typeof patchOrRefusal>[1], text: string) {
  const patch = await patchOrRefusal(subject, context, `the text ${JSON.stringify(text)}`)
  return patch === undefined ? [] : patchTexts(patch)
}

function expectHarmless(hostile: string, found: readonly PatchText[], plain: readonly PatchText[]): void {
  for (const { kind, place, text } of found) {
    if (!text.includes(MARK)) continue
    expect(kind !== 'command', `${place} holds a user's text: ${JSON.stringify(text)}`)
    if (kind !== 'file') continue
    const ordinary = plain.find((other) => other.kind === kind && other.place === place)?.text
    // Refused with an ordinary word already: there is nothing to compare with.
    if (ordinary !== undefined) expectSameStructure(place, hostile, text, ordinary)
  }
}

/** A text may be in a file as a value, encoded as the format of the file demands; it may not become anything else. */
function expectSameStructure(file: string, hostile: string, text: string, ordinary: string): void {
  const words = `file ${file} is another one with the text ${JSON.stringify(hostile)}`
  expect(text.split('\n').length === ordinary.split('\n').length, `${words}: it has more lines`)
  if (!/\.(json|ya?ml)$/.test(file)) return
  const expected = canonicalJson(replaced(parse(ordinary), hostile))
  let actual: string
  try {
    actual = canonicalJson(parse(text))
  } catch {
    actual = 'what cannot be read'
  }
  expect(actual === expected, `${words}: it holds ${actual.slice(0, 200)}`)
}

/** The same document with another text in place of the mark. */
function replaced(value: unknown, by: string): unknown {
  if (typeof value === 'string') return value.replaceAll(MARK, () => by)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => replaced(item, by))
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaced(member, by)]))
}
