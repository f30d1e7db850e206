import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../lib/paths.mjs'
import { noteOfFolder, testReport, type JestSuite, type JestTest } from './test-report.mjs'

const startedAt = new Date('2026-01-02T03:04:05Z')
const endedAt = new Date('2026-01-02T03:04:35Z')
const subject = { chart: '1.2.3' }

const file = (name: string, ...assertionResults: readonly JestTest[]): JestSuite => ({
  name: join(root, name),
  status: assertionResults.some(({ status }) => status === 'failed') ? 'failed' : 'passed',
  startTime: 1000,
  endTime: 3500,
  assertionResults,
})
const test = (title: string, rest: Partial<JestTest> = {}): JestTest => ({
  ancestorTitles: ['retry: a policy'],
  title,
  status: 'passed',
  duration: 1250,
  ...rest,
})
const report = (testResults: readonly JestSuite[], exitCode = 0) =>
  testReport({ jest: { startTime: 0, testResults }, exitCode, subject, startedAt, endedAt })

describe('testReport', () => {
  it('says what each test proves, how long it took, and what was tested', () => {
    expect(report([file('e2e/retry.test.ts', test('tries again'))])).toEqual({
      startedAt: '2026-01-02T03:04:05.000Z',
      seconds: 30,
      counts: { passed: 1, failed: 0, skipped: 0 },
      subject,
      files: [
        {
          file: 'e2e/retry.test.ts',
          seconds: 2.5,
          tests: [
            {
              group: 'retry: a policy',
              proves: 'retry: a policy, tries again',
              outcome: 'passed',
              seconds: 1.25,
              failures: [],
              logs: [],
            },
          ],
        },
      ],
    })
  })

  it('orders files by their names, in whatever order they ended', () => {
    const { files } = report([file('b.test.ts', test('x')), file('a.test.ts', test('x'))])
    expect(files.map((each) => each.file)).toEqual(['a.test.ts', 'b.test.ts'])
  })

  it('tells failures without colours, and the folders with logs that they name', () => {
    const message = `\u001B[31mnever works\u001B[39m\n${noteOfFolder('/reports/retry')}\n    at a.ts:1`
    const failed = test('x', { status: 'failed', failureMessages: [message, message] })
    const [outcome] = report([file('a.test.ts', failed)], 1).files[0]!.tests
    expect(outcome).toMatchObject({ outcome: 'failed', logs: ['/reports/retry'] })
    expect(outcome!.failures[0]).toBe(`never works\n(report: /reports/retry)\n    at a.ts:1`)
  })

  it('counts a test that did not run as skipped', () => {
    const { counts, files } = report([file('a.test.ts', test('x', { status: 'pending', duration: null }))])
    expect(counts).toEqual({ passed: 0, failed: 0, skipped: 1 })
    expect(files[0]!.tests[0]).toMatchObject({ outcome: 'skipped', seconds: 0 })
  })

  it('tells of a file whose clean-up failed although its tests passed', () => {
    const broken: JestSuite = {
      ...file('a.test.ts', test('x')),
      status: 'failed',
      message: 'afterAll: something is left',
    }
    const { counts, files } = report([broken], 1)
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0 })
    expect(files[0]).toMatchObject({ problem: 'afterAll: something is left' })
  })

  it('has a failure when jest ended without a report', () => {
    const result = testReport({ jest: undefined, exitCode: 1, subject: undefined, startedAt, endedAt })
    expect(result).toMatchObject({ counts: { passed: 0, failed: 1, skipped: 0 }, subject: null })
    expect(result.files).toEqual([
      { file: '', seconds: 0, problem: expect.stringContaining('ended with 1'), tests: [] },
    ])
  })

  it('has a failure when jest failed although all tests passed', () => {
    const { counts, files } = report([file('a.test.ts', test('x'))], 1)
    expect(counts.failed).toBe(1)
    expect(files.at(-1)).toMatchObject({ file: '', problem: expect.stringContaining('ended with 1') })
  })
})
