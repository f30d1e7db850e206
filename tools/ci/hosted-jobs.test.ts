import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { hostedJobs, type HostedSettings } from './hosted-jobs.mjs'
import { parseTierPlan } from './tiers.mjs'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const plan = parseTierPlan(read('../../.ci/tiers.json'))
const settings = JSON.parse(read('./hosted.json')) as HostedSettings
const jobs = hostedJobs(plan, settings)
const all = [...jobs.containers, ...jobs.hosts, ...jobs.clusters]

describe('hostedJobs', () => {
  it('runs the command of each tier that a host can run', () => {
    const expected = plan.tiers.filter(({ name }) => !['set-up', 'cluster-build', 'pipy'].includes(name))
    const commands = new Set(all.map(({ command }) => command))
    expect(expected.filter(({ command }) => !commands.has(command))).toEqual([])
    expect(all.filter(({ command }) => command.includes('test:pipy'))).toEqual([])
  })

  it('runs check and test on each version of Node and on both processors', () => {
    const checks = jobs.containers.filter(({ name }) => name.startsWith('check'))
    expect(checks.map(({ runner, image }) => [runner, image])).toEqual([
      ['ubuntu-24.04', 'node:20-bookworm'],
      ['ubuntu-24.04', 'node:22-bookworm'],
      ['ubuntu-24.04', 'node:24-bookworm'],
      ['ubuntu-24.04-arm', 'node:24-bookworm'],
    ])
  })

  it('runs unit tests and the demo on Linux and on macOS', () => {
    expect(jobs.hosts.map(({ name }) => name)).toEqual([
      'unit (ubuntu-24.04)',
      'unit (macos-15)',
      'demo (ubuntu-24.04)',
      'demo (macos-15)',
    ])
  })

  it('runs the cluster tier on kind, on four consecutive versions of Kubernetes whose images are pinned', () => {
    const minors = jobs.clusters.map(({ options = '' }) => {
      const [, minor] =
        /^--provider kind --node-image kindest\/node:v1\.(\d+)\.\d+@sha256:[0-9a-f]{64}$/.exec(options) ?? []
      return Number(minor)
    })
    const [newest = NaN] = minors
    expect(minors).toEqual([newest, newest - 1, newest - 2, newest - 3])
  })

  it('gives jobs different names and three times the budgets of the tier and of set-up', () => {
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
    const { containers } = hostedJobs(
      parseTierPlan(
        JSON.stringify({
          outside: {},
          tiers: [
            { name: 'set-up', minutes: 2, needs: [], command: 'a' },
            { name: 'bench', minutes: 5, needs: [], command: 'b' },
          ],
        }),
      ),
      settings,
    )
    expect(containers.map(({ command, minutes }) => [command, minutes])).toEqual([['b', 21]])
  })
})
