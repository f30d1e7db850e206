import fc from '../../node_modules/fast-check/lib/fast-check.js'

// One seed for all property tests, so that a run can be repeated and two runs of one commit end alike. `OSM_PROPERTY_SEED` gives another one, to
// search further: a failure names its seed.
fc.configureGlobal({ seed: Number(process.env.OSM_PROPERTY_SEED ?? 1_000_003) })

/** fast-check's own number of runs where a property says nothing. */
const DEFAULT_RUNS = 100
/**
 * Share of the runs of each property, in percent. `npm run check` takes a part of them, so as to be quick; `npm test`
 * takes all. A property with its own seed counts what that seed brings, and always runs in full.
 */
const percent = Number(process.env.OSM_PROPERTY_RUNS ?? 100)

/**
 * As fast-check's, with the share of runs that was requested.
 * @template Ts
 * @param {import('fast-check').IRawProperty<Ts>} property
 * @param {import('fast-check').Parameters<Ts>} [parameters]
 */
export const assert = (property, parameters = {}) =>
  fc.assert(property, {
    ...parameters,
    numRuns: Math.ceil(((parameters.numRuns ?? DEFAULT_RUNS) * (parameters.seed === undefined ? percent : 100)) / 100),
  })

/** Any code point but surrogates, which stand for no character alone. */
const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800))

/**
 * As fast-check's. Its unit `binary` first makes a table of all characters, which takes a second of every process that requests it; this one is as wide and
 * does without.
 * @param {import('fast-check').StringConstraints} [constraints]
 */
export const string = (constraints = {}) =>
  fc.string(constraints.unit === 'binary' ? { ...constraints, unit: codePoint } : constraints)

const plain = "ABCXYZabcxyz0189-._~!$&'()*+,;=:@"
const pathCharacter = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(...Array.from(plain)) },
  { weight: 1, arbitrary: codePoint.map((character) => encodeURIComponent(character)) },
)

/** As fast-check's, which makes that table too: path-absolute of RFC 3986, with percent-encoded characters of all kinds. */
export const webPath = () =>
  fc
    .array(fc.string({ unit: pathCharacter, maxLength: 10 }))
    .map((segments) => segments.map((each) => `/${each}`).join(''))

export * from '../../node_modules/fast-check/lib/fast-check.js'
const all = { ...fc, assert, string, webPath }
export { all as default }
