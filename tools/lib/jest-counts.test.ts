import { describe, expect, it } from '@jest/globals'
import { countJestReport, type SuiteReport } from './jest-counts.mjs'

function suite(status: string, ...tests: readonly string[]): SuiteReport {
  return { status, assertionResults: tests.map((test) => ({ status: test })) }
}

describe('countJestReport', () => {
  it('counts tests of all suites', () => {
    const testResults = [suite('passed', 'passed', 'passed'), suite('failed', 'passed', 'failed')]
    expect(countJestReport({ testResults }, 1)).toEqual({ passed: 3, failed: 1, skipped: 0 })
  })

  it('counts pending tests and plans as skipped', () => {
    const testResults = [suite('passed', 'passed', 'pending', 'todo')]
    expect(countJestReport({ testResults }, 0)).toEqual({ passed: 1, failed: 0, skipped: 2 })
  })

  it('counts a suite that did not load as one failure', () => {
    const testResults = [suite('passed', 'passed'), suite('failed')]
    expect(countJestReport({ testResults }, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 })
  })

  it('counts a suite whose tests passed and whose clean-up threw as one failure', () => {
    expect(countJestReport({ testResults: [suite('failed', 'passed')] }, 1)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 0,
    })
  })

  it('does not let a bad exit code pass', () => {
    expect(countJestReport({ testResults: [suite('passed', 'passed')] }, 1)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 0,
    })
  })

  it('takes no tests, and no report, for a failure', () => {
    const oneFailure = { passed: 0, failed: 1, skipped: 0 }
    expect(countJestReport({ testResults: [] }, 0)).toEqual(oneFailure)
    expect(countJestReport(undefined, 0)).toEqual(oneFailure)
    expect(countJestReport(undefined, 139)).toEqual(oneFailure)
  })
})
