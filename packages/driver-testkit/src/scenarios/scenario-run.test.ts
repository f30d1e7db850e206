import { describe, expect, it } from '@jest/globals'
import type { RequiredFeature } from '@osm-ts/driver-api/host'

import type { Scenario } from './format.js'
import { ScenarioRun } from './scenario-run.js'
import type { ReportedProblem, ScenarioRunner } from './scenario-runner.js'

const two: Scenario = {
  name: 'two-steps',
  title: 'two steps',
  modes: ['explicit'],
  needs: ['retries'],
  workloads: [],
  steps: [
    { title: 'first', expect: [{ kind: 'problem', problem: 'ONE', once: true }] },
    { title: 'second', expect: [{ kind: 'problem', problem: 'TWO', once: true }] },
  ],
}

/** A runner that notes what is done on it. */
function stageWith(lacking: readonly RequiredFeature[], problems: readonly ReportedProblem[], scenario = two) {
  const done: string[] = []
  const note = async (what: string): Promise<void> => void done.push(what)
  const runner: Pick<ScenarioRunner, 'lacks' | 'begin' | 'change' | 'observed' | 'reset' | 'fill' | 'problems'> = {
    lacks: (feature) => lacking.includes(feature),
    begin: ({ name }) => note(`begin ${name}`),
    change: ({ title }) => note(title),
    observed: (_what, work) => work(),
    reset: () => note('reset'),
    fill: async (value) => value,
    problems: async () => problems,
  }
  // A scenario that only requests problems uses nothing else.
  return { done, run: new ScenarioRun(scenario, [], runner as ScenarioRunner) }
}

const problem = (code: string, message = ''): ReportedProblem => ({ code, message })

describe('a scenario on a runner', () => {
  it('makes the changes of steps that somebody has left out, each once', async () => {
    const { run, done } = stageWith([], [problem('ONE'), problem('TWO')])
    await run.begin()
    expect(run.cases.map(({ title }) => title)).toEqual(['first', 'second'])
    await run.cases[1]?.prove()
    await run.end()
    expect(done).toEqual(['begin two-steps', 'first', 'second'])
  })

  it('clears away after a failure, unless something has gone well since', async () => {
    const { run, done } = stageWith([], [problem('TWO')])
    await run.begin()
    await expect(run.cases[0]?.prove()).rejects.toThrow('"problem":"ONE"')
    await run.end()
    expect(done).toEqual(['begin two-steps', 'first', 'reset'])
  })

  it('requests the protocols that are called, as for features', async () => {
    const calls: Scenario = {
      ...two,
      workloads: [
        { name: 'shop/store', ports: { rpc: { port: 9090, app: 'grpc' }, other: { port: 81, app: 'http2' } } },
        { name: 'out/bank', sidecar: false, ports: { main: { port: 9091, app: 'tcp' } } },
      ],
      steps: [
        { title: 'call', expect: [{ kind: 'grpc', from: 'shop/store', grpc: 'store.shop:9090/a.B/C', code: 0 }] },
        { title: 'leave', expect: [{ kind: 'tcp', from: 'shop/store', tcp: 'bank.out:9091' }] },
      ],
    }
    const { run } = stageWith(
      ['protocol:grpc', 'protocol:http2', 'protocol:tcp'],
      [problem('OSM_ADMISSION_CAPABILITY', 'cannot do this (protocol:grpc)')],
      calls,
    )
    expect(run.cases.map(({ lacks }) => lacks)).toEqual(['protocol:grpc'])
    await run.cases[0]?.prove()
  })

  it('shows that what the sidecars lack is reported, and is wrong if no one says so', async () => {
    const told = stageWith(['retries'], [problem('OSM_ADMISSION_CAPABILITY', 'no attempts (retries)')])
    expect(told.run.cases.map(({ lacks }) => lacks)).toEqual(['retries'])
    await told.run.cases[0]?.prove()
    const silent = stageWith(['retries'], [problem('ONE')])
    await expect(silent.run.cases[0]?.prove()).rejects.toThrow('no object of the scenario is reported')
    expect(silent.done).toEqual(['first', 'second'])
  })
})
