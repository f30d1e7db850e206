import { describe, expect, it } from '@jest/globals'
import { formFaults, shellFaults, workflowFaults } from './check-workflows.mjs'

const commit = '3d3c42e5aac5ba805825da76410c181273ba90b1'
const workflow = (uses: string, permissions = 'permissions: {}\n', job = 'timeout-minutes: 5\n    ') =>
  `${permissions}jobs:\n  one:\n    ${job}steps:\n      - uses: ${uses}\n`
const form = (body: string) => `name: a\ndescription: b\nbody:\n${body}`

describe('workflowFaults', () => {
  it('accepts an action that is pinned by its commit and names its version', () => {
    expect(workflowFaults('a', workflow(`actions/checkout@${commit} # v7.0.1`))).toEqual([])
    expect(workflowFaults('a', workflow('./.github/actions/own'))).toEqual([])
  })

  it.each(['actions/checkout@v7', `actions/checkout@${commit}`, 'actions/checkout@3d3c42e # v7.0.1'])(
    'refuses %s',
    (uses) => {
      expect(workflowFaults('a', workflow(uses))).toEqual([expect.stringContaining('a:6: actions/checkout@')])
    },
  )

  it('refuses rights that are not stated or too wide, and a job without a time limit', () => {
    const uses = `actions/checkout@${commit} # v7.0.1`
    for (const permissions of ['', 'permissions: write-all\n', 'permissions:\n  contents: write\n'])
      expect(workflowFaults('a', workflow(uses, permissions))).toEqual([expect.stringContaining('a: permissions')])
    expect(workflowFaults('a', workflow(uses, undefined, ''))).toEqual(['a: jobs.one: expected timeout-minutes'])
  })
})

describe('shellFaults', () => {
  const steps = (script: string) => `jobs:\n  one:\n    steps:\n      - run: ${JSON.stringify(script)}\n`

  it('accepts expressions of the host and refuses what a shell cannot read', async () => {
    expect(await shellFaults('a', steps('echo "${{ matrix.name }}"'))).toEqual([])
    expect(await shellFaults('a', steps('if true; then echo'))).toEqual([
      expect.stringContaining('a: jobs.one.steps[0]'),
    ])
  })
})

describe('formFaults', () => {
  it('accepts a form with one question', () => {
    expect(formFaults('a', form('  - { type: input, id: x, attributes: { label: y } }'))).toEqual([])
  })

  it.each([
    ['  - { type: markdown, attributes: { value: y } }', 'expected a question'],
    ['  - { type: text, id: x, attributes: { label: y } }', 'type text'],
    ['  - { type: input, attributes: { label: y } }', 'expected id and attributes.label'],
    ['  - { type: dropdown, id: x, attributes: { label: y, options: [] } }', 'expected a list of texts'],
    [
      '  - { type: input, id: x, attributes: { label: y } }\n  - { type: input, id: x, attributes: { label: y } }',
      'two elements have one id',
    ],
  ])('refuses %j', (body, message) => {
    expect(formFaults('a', form(body))).toEqual([expect.stringContaining(message)])
  })
})
