import { formatObjectRef, formatProblem, type Problem } from '@osm-ts/core'

/** The findings as SARIF 2.1.0, which code hosts show beside the lines of a change. */
export function toSarif(
  findings: readonly Problem[],
  { version, meanings }: { readonly version: string; readonly meanings: Readonly<Record<string, string>> },
): unknown {
  const codes = [...new Set(findings.map(({ code }) => code))].sort()
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'osm analyze',
            version,
            rules: codes.map((code) => ({ id: code, shortDescription: { text: meanings[code] ?? code } })),
          },
        },
        results: findings.map((problem) => ({
          ruleId: problem.code,
          ruleIndex: codes.indexOf(problem.code),
          level: problem.severity,
          message: { text: [subjectOf(problem), problem.message].filter(Boolean).join(': ') },
          locations: [sarifLocation(problem)],
        })),
      },
    ],
  }
}

function sarifLocation({ object, origin, field }: Problem): unknown {
  const logical =
    object === undefined
      ? []
      : [{ fullyQualifiedName: [formatObjectRef(object), field].filter(Boolean).join(' '), kind: 'object' }]
  return {
    ...(origin?.kind === 'file' && {
      physicalLocation: {
        artifactLocation: { uri: origin.file.split('/').map(encodeURIComponent).join('/') },
        region: { startLine: origin.line, startColumn: origin.column },
      },
    }),
    ...(logical.length > 0 && { logicalLocations: logical }),
  }
}

/** The findings as a JUnit report: a test case for each, which fails where it is an error. */
export function toJUnit(findings: readonly Problem[]): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const cases =
    findings.length === 0 ? [`    <testcase classname="osm" name="no findings"/>`] : findings.flatMap(testCase)
  const count = Math.max(findings.length, 1)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites tests="${count}" failures="${errors}">`,
    `  <testsuite name="osm analyze" tests="${count}" failures="${errors}">`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function testCase(problem: Problem): readonly string[] {
  const { code, severity, message } = problem
  const name = escapeXml([subjectOf(problem), message].filter(Boolean).join(': '))
  const text = escapeXml(formatProblem(problem))
  const head = `    <testcase classname="${escapeXml(code)}" name="${name}">`
  const body =
    severity === 'error'
      ? `      <failure type="${escapeXml(code)}" message="${escapeXml(message)}">${text}</failure>`
      : `      <system-out>${text}</system-out>`
  return [head, body, '    </testcase>']
}

function subjectOf({ object, field }: Problem): string {
  return [object && formatObjectRef(object), field].filter(Boolean).join(': ')
}

/** Text inside an XML element or attribute. Characters that XML 1.0 cannot hold are shown as dots; what would steer a terminal is a reference. */
function escapeXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '·')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/[\t\n\r\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `&#${character.codePointAt(0)};`)
}
