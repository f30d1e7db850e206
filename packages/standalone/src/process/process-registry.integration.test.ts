import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { machineProcesses, parseStat, type ProcessTable, type SeenProcess } from './process-identity.js'
import { findLeftovers, MARK, ProcessRegistry } from './process-registry.js'
import { sweepProcesses } from './sweep.js'

const folder = temporaryFolders()

/** A machine with exactly these processes. */
function machine(
  processes: readonly SeenProcess[],
  bootId = 'boot',
  marks: Readonly<Record<number, string>> = {},
): ProcessTable {
  return {
    bootId: () => bootId,
    find: (pid) => processes.find((it) => it.pid === pid),
    list: () => processes,
    variable: (pid, name) => (name === MARK ? marks[pid] : undefined),
  }
}

/** The file that a registry writes which has started these. */
function registryFile(processes: readonly SeenProcess[]): string {
  const file = join(folder(), 'processes.json')
  const registry = new ProcessRegistry(file, machine(processes))
  for (const { pid } of processes) registry.add(pid)
  return file
}

const ours: SeenProcess = { pid: 100, session: 100, started: 5000 }

describe('findLeftovers', () => {
  it('finds a recorded process by its number and start time', () => {
    expect(findLeftovers(registryFile([ours]), '/state', machine([ours]))).toEqual([100])
  })

  it('takes nothing for ours that merely has the number of one of ours', () => {
    const file = registryFile([ours])
    expect(findLeftovers(file, '/state', machine([{ ...ours, started: 6000 }]))).toEqual([])
    expect(findLeftovers(file, '/state', machine([ours], 'another boot'))).toEqual([])
  })

  it('finds what a dead process of ours has left in its session, if it bears our mark', () => {
    const file = registryFile([ours])
    const child = { pid: 101, session: 100, started: 5001 }
    expect(findLeftovers(file, '/state', machine([child], 'boot', { 101: '/state' }))).toEqual([101])
    expect(findLeftovers(file, '/state', machine([child], 'boot', { 101: '/another' }))).toEqual([])
    expect(findLeftovers(file, '/state', machine([child]))).toEqual([])
  })

  it('forgets what has ended', () => {
    const file = join(folder(), 'processes.json')
    const registry = new ProcessRegistry(file, machine([ours]))
    registry.add(100)
    registry.remove(100)
    expect(findLeftovers(file, '/state', machine([ours]))).toEqual([])
    expect(findLeftovers(join(folder(), 'none.json'), '/state', machine([ours]))).toEqual([])
  })

  it('refuses a file of another kind', () => {
    const file = join(folder(), 'processes.json')
    writeFileSync(file, '[]')
    expect(() => findLeftovers(file, '/state', machine([]))).toThrow(
      expect.objectContaining({ code: 'OSM_STANDALONE_STATE' }),
    )
  })
})

describe('sweepProcesses', () => {
  it('ends a real leftover and its children, and no one else', async () => {
    const state = folder()
    const file = join(state, 'processes.json')
    const script =
      'require("node:child_process").spawn("sleep", ["600"], { stdio: "ignore" }); console.log("up"); setInterval(() => {}, 1000)'
    const leftover = spawn(process.execPath, ['-e', script], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, [MARK]: state },
    })
    const bystander = spawn('sleep', ['600'], { stdio: 'ignore', detached: true })
    try {
      await once(leftover.stdout, 'data')
      new ProcessRegistry(file, machineProcesses).add(leftover.pid!)
      const session = machineProcesses.list().filter((it) => it.session === leftover.pid)
      expect(session).toHaveLength(2)
      expect(await sweepProcesses(file, state)).toBe(2)
      expect(session.filter(({ pid }) => machineProcesses.find(pid) !== undefined)).toEqual([])
      expect(machineProcesses.find(bystander.pid!)).toBeDefined()
    } finally {
      bystander.kill('SIGKILL')
    }
  })
})

describe('parseStat', () => {
  const rest = (state: string) => `${state} 1 42 40 0 -1 4194560 0 0 0 0 1 2 3 4 20 0 1 0 987654 100 200`

  it('reads session and start time whatever the name of the program is', () => {
    expect(parseStat(42, `42 (node) ${rest('S')}`)).toEqual({ pid: 42, session: 40, started: 987_654 })
    expect(parseStat(42, `42 (a b) (c) 9) ${rest('R')}`)).toEqual({ pid: 42, session: 40, started: 987_654 })
  })

  it('sees no process in one that has ended, or in nonsense', () => {
    expect(parseStat(42, `42 (node) ${rest('Z')}`)).toBeUndefined()
    expect(parseStat(42, '')).toBeUndefined()
  })
})
