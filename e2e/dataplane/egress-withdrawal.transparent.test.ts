import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { kernelTestObstacle, run } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { account, egress, ignoredNamespace, meshConfig, service, workload } from './support/yaml.js'

/** Short, so that a test can wait for it. */
const WITHDRAWAL_MS = 2000
/** What is not to end goes on for this long. */
const AFTERWARDS_MS = 3 * WITHDRAWAL_MS

/** A response that goes on until one side ends it. */
interface OpenResponse {
  readonly ended: () => boolean
  readonly stop: () => void
}

const program = `
require('node:http').get(process.argv[1], { agent: false }, (response) => {
  console.log(response.statusCode)
  response.on('data', () => undefined).on('error', () => process.exit()).on('close', () => process.exit())
})`

/** A request from a network namespace whose response does not end by itself. */
async function openFrom(namespace: string, url: string): Promise<OpenResponse> {
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, '-e', program, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let ended = false
  child.on('close', () => (ended = true))
  const [status] = (await once(child.stdout, 'data')) as [Buffer]
  expect(status.toString().trim()).toBe('200')
  return { ended: () => ended, stop: () => void child.kill() }
}

function outside(name: string, port: number): readonly string[] {
  return [
    service(`outside/${name}`, name, port, { headless: true }),
    workload(`outside/${name}`, {
      program: programs.http,
      port,
      account: 'outside',
      sidecar: false,
      env: { HOST: '0.0.0.0' },
    }),
  ]
}

const opened = (name: string, port: number): string =>
  egress(`shop/${name}`, { from: ['shop/client'], hosts: [`${name}.outside`], ports: [`${port}/http`] })

describe('streams to a host whose Egress is deleted while no controller runs', () => {
  let mesh: TestMesh
  let namespace: string
  const open: OpenResponse[] = []
  const stream = async (name: string, port: number): Promise<OpenResponse> => {
    const response = await openFrom(namespace, `http://${name}.outside:${port}/?events=1`)
    open.push(response)
    return response
  }

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [
          meshConfig({
            traffic: {
              enablePermissiveTrafficPolicyMode: false,
              enableEgress: false,
              policyWithdrawalTimeout: `${WITHDRAWAL_MS}ms`,
            },
          }),
        ],
        'workloads.yaml': [
          account('shop/client'),
          workload('shop/client', { program: programs.idle }),
          ignoredNamespace('outside'),
          account('outside/outside'),
          ...outside('lost', 80),
          ...outside('beside', 80),
          ...outside('kept', 81),
        ],
        'lost.yaml': [opened('lost', 80)],
        'others.yaml': [opened('beside', 80), opened('kept', 81)],
      },
      { mode: 'transparent' },
    )
    namespace = run('ip', ['netns', 'identify', String(mesh.instance('shop/client').pid)]).trim()
  })
  afterAll(async () => {
    for (const { stop } of open) stop()
    await mesh.stop()
  })

  it('end when the next controller starts, and those to other ports go on', async () => {
    const [lost, kept] = [await stream('lost', 80), await stream('kept', 81)]
    // A restart alone ends nothing.
    await mesh.restartController()
    await mesh.settled()
    await pause(AFTERWARDS_MS)
    expect([lost.ended(), kept.ended()]).toEqual([false, false])
    await mesh.restartController(async () => mesh.write('lost.yaml'))
    await eventually(
      () => lost.ended(),
      (ended) => ended,
      { what: 'the end of the stream to the host that is no longer opened' },
    )
    await pause(AFTERWARDS_MS)
    expect(kept.ended()).toBe(false)
    // The port is still open to the other host.
    await stream('beside', 80)
  })
})
