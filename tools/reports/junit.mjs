/** @typedef {import('./test-report.mjs').TestReport} TestReport */
/** @typedef {import('./test-report.mjs').FileOutcome} FileOutcome */
/** @typedef {import('./test-report.mjs').TestOutcome} TestOutcome */

// Written here: it is a page of XML, and reporters for jest know neither versions of what was tested nor runs that end before jest does.

const entities = /** @type {Readonly<Record<string, string>>} */ ({
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\t': '&#9;',
  '\r': '&#13;',
})
const specialInText = /[&<>\r]/g
// A parser makes spaces of line ends and tabs in an attribute that are not escaped.
const specialInAttribute = /[&<>"\n\t\r]/g
// XML 1.0 has no way to write these, escaped or not. What programs print holds them at times.
// eslint-disable-next-line no-control-regex
const unwritable = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu

/**
 * The report as programs for continuous integration read it: `testsuites`, a `testsuite` for each file, a `testcase` for each test.
 * @param {string} name of the run
 * @param {TestReport} report
 */
export function junitXml(name, { startedAt, seconds, subject, files }) {
  const properties = propertiesOf(subject)
  const suites = files.map((file) => `\n${suite(file, startedAt, properties)}`)
  const attributes = { name, ...countsOf(files), time: seconds, timestamp: startedAt }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', attributes, suites)}\n`
}

/**
 * @param {FileOutcome} file
 * @param {string} timestamp
 * @param {readonly (readonly [string, string])[]} properties
 */
function suite(file, timestamp, properties) {
  const { seconds, problem, tests } = file
  const name = file.file === '' ? 'the run itself' : file.file
  const stated = properties.map(([key, value]) => element('property', { name: key, value }))
  // What is no test is shown by readers of the format only if it looks like one.
  const broken =
    problem === undefined
      ? []
      : [element('testcase', { name: 'set-up and clean-up', classname: name, time: 0 }, [errorElement(problem)])]
  const attributes = { name, ...countsOf([file]), time: seconds, timestamp }
  return element('testsuite', attributes, [
    ...(stated.length > 0 ? [element('properties', {}, stated)] : []),
    ...tests.map((test) => testCase(name, test)),
    ...broken,
  ])
}

/**
 * @param {string} file
 * @param {TestOutcome} test
 */
function testCase(file, { group, proves, outcome, seconds, failures, logs }) {
  const attributes = { name: proves, classname: group === '' ? file : group, file, time: seconds }
  const children = failures.map((failure) => element('failure', { message: firstLine(failure) }, [text(failure)]))
  if (outcome === 'skipped') children.push(element('skipped', {}))
  if (logs.length > 0) children.push(element('system-out', {}, [text(`logs: ${logs.join(', ')}`)]))
  return element('testcase', attributes, children)
}

/** @param {string} problem */
function errorElement(problem) {
  return element('error', { message: firstLine(problem) }, [text(problem)])
}

/** @param {readonly FileOutcome[]} files */
function countsOf(files) {
  const tests = files.flatMap((file) => file.tests)
  const broken = files.filter(({ problem }) => problem !== undefined).length
  const having = (/** @type {TestOutcome['outcome']} */ wanted) =>
    tests.filter(({ outcome }) => outcome === wanted).length
  return { tests: tests.length + broken, failures: having('failed'), errors: broken, skipped: having('skipped') }
}

/**
 * Everything that the subject says, by its path: `images.osm-controller`.
 * @param {unknown} value
 * @param {string} [path]
 * @returns {(readonly [string, string])[]}
 */
function propertiesOf(value, path = '') {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return [[path, String(value)]]
  return Object.entries(value ?? {}).flatMap(([key, nested]) =>
    propertiesOf(nested, path === '' ? key : `${path}.${key}`),
  )
}

/**
 * @param {string} name
 * @param {Readonly<Record<string, string | number>>} attributes
 * @param {readonly string[]} children XML
 */
function element(name, attributes, children = []) {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value, specialInAttribute)}"`)
  const start = `<${name}${written.join('')}`
  return children.length === 0 ? `${start}/>` : `${start}>${children.join('')}</${name}>`
}

/** @param {string} content */
function text(content) {
  return escaped(content, specialInText)
}

/**
 * Characters that XML does not have become U+FFFD.
 * @param {string | number} value
 * @param {RegExp} special
 */
function escaped(value, special) {
  const writable = String(value).replaceAll(unwritable, '\uFFFD')
  return writable.replaceAll(special, (character) => entities[character] ?? character)
}

/** @param {string} content */
function firstLine(content) {
  return content.split('\n', 1)[0] ?? ''
}
