import { spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { junitXml } from './junit.mjs'
import type { FileOutcome, TestOutcome, TestReport } from './test-report.mjs'

const passed: TestOutcome = {
  group: 'g',
  proves: 'g, it works',
  outcome: 'passed',
  seconds: 1.5,
  failures: [],
  logs: [],
}
const report = (files: readonly FileOutcome[], subject: unknown = null): TestReport => ({
  startedAt: '2026-01-02T03:04:05.000Z',
  seconds: 30,
  counts: { passed: 0, failed: 0, skipped: 0 },
  subject,
  files,
})
const file = (...tests: readonly TestOutcome[]): FileOutcome => ({ file: 'a.test.ts', seconds: 2, tests })

/** An element as a parser that is not ours sees it. */
interface Element {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
  readonly children: readonly Element[]
}

const parser = `
import json, sys
import xml.etree.ElementTree as tree
def walk(e):
    return {'tag': e.tag, 'attributes': e.attrib, 'text': e.text or '', 'children': [walk(c) for c in e]}
json.dump(walk(tree.fromstring(sys.stdin.buffer.read())), sys.stdout)
`

function parsed(xml: string): Element {
  const { status, stdout, stderr } = spawnSync('python3', ['-c', parser], { input: xml, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Element
}

describe('junitXml', () => {
  it('has a suite for each file and a case for each test', () => {
    const { tag, attributes, children } = parsed(junitXml('test:cluster', report([file(passed)])))
    expect({ tag, attributes }).toEqual({
      tag: 'testsuites',
      attributes: {
        name: 'test:cluster',
        tests: '1',
        failures: '0',
        errors: '0',
        skipped: '0',
        time: '30',
        timestamp: '2026-01-02T03:04:05.000Z',
      },
    })
    expect(children).toMatchObject([
      {
        tag: 'testsuite',
        attributes: { name: 'a.test.ts', tests: '1', time: '2' },
        children: [{ tag: 'testcase', attributes: { name: 'g, it works', classname: 'g', time: '1.5' } }],
      },
    ])
  })

  it('keeps every character of a message that XML can hold', () => {
    const message = `a < b && c > "d" 'e' ]]> <!-- \ttab\r\nnext line é 🦊`
    const failed: TestOutcome = { ...passed, outcome: 'failed', proves: message, failures: [message] }
    const [suite] = parsed(junitXml('run', report([file(failed)]))).children
    const [testCase] = suite!.children
    expect(testCase!.attributes.name).toBe(message)
    expect(testCase!.children).toMatchObject([
      { tag: 'failure', attributes: { message: message.slice(0, message.indexOf('\n')) }, text: message },
    ])
  })

  it('puts a mark in place of what XML cannot hold', () => {
    const failed: TestOutcome = { ...passed, outcome: 'failed', failures: ['nul \0, escape \u001B, half \uD83E'] }
    const [suite] = parsed(junitXml('run', report([file(failed)]))).children
    expect(suite!.children[0]!.children[0]!.text).toBe('nul \uFFFD, escape \uFFFD, half \uFFFD')
  })

  it('tells failures, tests that did not run, and files that broke as a whole', () => {
    const failed: TestOutcome = { ...passed, outcome: 'failed', failures: ['no'], logs: ['/reports/a'] }
    const skipped: TestOutcome = { ...passed, outcome: 'skipped' }
    const broken: FileOutcome = { ...file(failed, skipped), problem: 'clean-up: something is left' }
    const [suite] = parsed(junitXml('run', report([broken]))).children
    expect(suite!.attributes).toMatchObject({ tests: '3', failures: '1', errors: '1', skipped: '1' })
    expect(suite!.children).toMatchObject([
      {
        children: [
          { tag: 'failure', text: 'no' },
          { tag: 'system-out', text: 'logs: /reports/a' },
        ],
      },
      { children: [{ tag: 'skipped' }] },
      {
        attributes: { name: 'set-up and clean-up' },
        children: [{ tag: 'error', text: 'clean-up: something is left' }],
      },
    ])
  })

  it('names a run that ended before any file', () => {
    const [suite] = parsed(
      junitXml('run', report([{ file: '', seconds: 0, problem: 'no cluster', tests: [] }])),
    ).children
    expect(suite!.attributes).toMatchObject({ name: 'the run itself', tests: '1', errors: '1' })
  })

  it('has the versions and digests of what was tested as properties', () => {
    const subject = { chart: '1.2.3', images: { 'localhost/x:1': 'sha256:aa' }, commit: undefined }
    const [suite] = parsed(junitXml('run', report([file(passed)], subject))).children
    expect(suite!.children[0]).toMatchObject({
      tag: 'properties',
      children: [
        { attributes: { name: 'chart', value: '1.2.3' } },
        { attributes: { name: 'images.localhost/x:1', value: 'sha256:aa' } },
      ],
    })
  })
})
