import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { root } from '../lib/paths.mjs'

/**
 * Finds phrases that make texts hard to read, such as riddles, personification and archaic words. Users and driver authors read docs, help, errors,
 * custom resources and the driver contract: no phrase is allowed there. Elsewhere each exception is listed by file.
 */

/** @typedef {{ readonly phrase: RegExp, readonly instead: string }} Phrase instead is what to write */
/** @typedef {{ readonly file: string, readonly line: number, readonly text: string, readonly instead: string }} Finding */

/** @type {readonly Phrase[]} */
const phrases = [
  { phrase: words('can not'), instead: 'cannot' },
  { phrase: words('anew'), instead: 'again, or a verb such as recreate or reload' },
  { phrase: words('whoever'), instead: 'any user, each client, the caller' },
  // As a word of a sentence: names of users, objects and variables are none.
  {
    phrase:
      /(?<![\w\-/'"`.:@])(?<!const |let )[Nn]obody(?=[ \n]+(?!=|as\b|from\b)[a-z])|(?<=[a-z] )(?<!const |let )nobody(?=[.,;:]?$|[.,;:] )/gm,
    instead: 'no caller, no user, or an active sentence about what exists',
  },
  { phrase: words('nought'), instead: 'zero' },
  { phrase: words('octets?', 'g'), instead: 'bytes, except in the specification of a protocol' },
  { phrase: words('(?:go|goes|gone|went|going) away'), instead: 'is unavailable, is removed, disconnects' },
  { phrase: words('that (?:is|are) none(?! of)'), instead: 'invalid' },
  { phrase: words(String.raw`of before(?!\.\w|\))`), instead: 'previous' },
  { phrase: words('(?:let|lets|letting) go of'), instead: 'release' },
  { phrase: words('(?:fare|fares|fared|faring)'), instead: 'state, or what happens' },
  { phrase: words('(?:is|are) (?:it|all|they) well'), instead: 'healthy' },
  { phrase: words('(?:is|are) not to be had'), instead: 'is unavailable' },
  { phrase: words('than it may'), instead: 'is invalid' },
  { phrase: words('no news'), instead: 'no change' },
  { phrase: words('had better'), instead: 'should' },
  { phrase: words('for who'), instead: 'for a user who, for a caller that' },
  { phrase: words('in the same moment'), instead: 'at the same time' },
  { phrase: words('for ever'), instead: 'forever, or without end' },
  { phrase: words('in the clear'), instead: 'in plaintext' },
  { phrase: words('seldom'), instead: 'rarely' },
  { phrase: words('turned away'), instead: 'refused' },
  { phrase: words('pass(?:es|ed|ing)? (?:it|them|the sidecar|the proxy|sidecars) by'), instead: 'bypass' },
  { phrase: words('in the place of'), instead: 'in place of' },
  { phrase: words('of late'), instead: 'recently' },
  { phrase: words('at hand'), instead: 'available, ready, or existing' },
  { phrase: words('(?:stand|stands|stood) (?:there|beside)'), instead: 'is there, is beside, contains' },
]

/** Code that follows a specification which speaks of octets, and figures of benchmarks with that name. */
const specifications = [
  'e2e/bench/',
  'packages/core/src/certificates/',
  'packages/core/src/spec/ip-range',
  'packages/driver-testkit/src/test-certificates',
  'packages/driver-api/src/toolkit/ip-octets',
  'packages/driver-api/src/index.ts',
  'packages/driver-pipy/codebase/server-names',
]

/** What is allowed where, with the number of times. Empty this list rather than extend it. */
const allowed = /** @type {Readonly<Record<string, number>>} */ ({})

/** Areas that are counted and reported, by the folders and files in them; the first that fits counts. */
const areas = /** @type {const} */ ({
  docs: ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs/'],
  cli: ['packages/cli/'],
  crds: ['packages/bootstrap/crds/', 'packages/core/src/spec/schema/', 'packages/kubernetes/src/crd/', 'charts/'],
  'driver-api': ['packages/driver-api/'],
  packages: ['packages/'],
  tests: ['e2e/', 'fuzz/'],
  others: ['examples/', 'images/', 'tools/'],
})

const extensions = new Set(['.js', '.json', '.md', '.mjs', '.proto', '.py', '.tpl', '.ts', '.txt', '.yaml'])
const skippedFolders = new Set(['coverage', 'dist', 'node_modules'])
/** Generated from Envoy's definitions; and this list with its test. */
const skipped = ['packages/envoy-api/', 'tools/lint/plain-english']

/**
 * Checks all texts of the repository.
 * @param {string} [base] folder of the repository
 * @returns {string[]} what is wrong
 */
export function checkPlainEnglish(base = root) {
  const found = Object.values(areas)
    .flatMap((places) => places.flatMap((place) => [...filesIn(base, place)]))
    .filter((file, index, files) => files.indexOf(file) === index && !skipped.some((prefix) => file.startsWith(prefix)))
    .flatMap((file) => findPhrases(file, readFileSync(join(base, file), 'utf8')))
  const excess = found.filter(({ file }) => (allowed[file] ?? 0) < found.filter((other) => other.file === file).length)
  const counts = Object.keys(areas).map(
    (area) => `${area} ${excess.filter(({ file }) => areaOf(file) === area).length}`,
  )
  const lines = excess.map(({ file, line, text, instead }) => `${file}:${line}: "${text}": write ${instead}`)
  return lines.length === 0 ? [] : [...lines, `phrases by area: ${counts.join(', ')}`]
}

/**
 * Phrases in one text, also across line breaks of comments.
 * @param {string} file path in the repository
 * @param {string} text
 * @returns {Finding[]}
 */
export function findPhrases(file, text) {
  const isSpecification = specifications.some((prefix) => file.startsWith(prefix))
  return phrases
    .filter(({ phrase }) => !(isSpecification && phrase.source.includes('octets')))
    .flatMap(({ phrase, instead }) =>
      [...text.matchAll(phrase)].map(({ 0: match, index }) => ({
        file,
        line: text.slice(0, index).split('\n').length,
        text: match.replaceAll(/\s+(?:\*|\/\/|#)?\s*/g, ' '),
        instead,
      })),
    )
}

/**
 * A phrase of whole words. Between two words there may be a line break, and the mark of a comment.
 * @param {string} phrase
 * @param {string} [flags]
 * @returns {RegExp}
 */
function words(phrase, flags = 'gi') {
  return new RegExp(
    String.raw`(?<![\w-])${phrase.replaceAll(' ', String.raw`\s+(?:(?:\*|\/\/|#)\s+)?`)}(?![\w-])`,
    flags,
  )
}

/** @param {string} file */
function areaOf(file) {
  return Object.entries(areas).find(([, places]) => places.some((place) => file.startsWith(place)))?.[0]
}

/**
 * Text files at a place, as paths in the repository.
 * @param {string} base
 * @param {string} place a file, or a folder that ends in a slash
 * @returns {Generator<string>}
 */
function* filesIn(base, place) {
  if (!place.endsWith('/')) {
    yield place
    return
  }
  for (const entry of readdirSync(join(base, place), { withFileTypes: true })) {
    if (entry.name.startsWith('.') || skippedFolders.has(entry.name)) continue
    if (entry.isDirectory()) yield* filesIn(base, `${place}${entry.name}/`)
    else if (entry.isFile() && extensions.has(extname(entry.name))) yield `${place}${entry.name}`
  }
}
