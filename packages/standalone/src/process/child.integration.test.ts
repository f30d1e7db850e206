import { join } from 'node:path'

import { describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { describeExit, startChild, type Child } from './child.js'
import { KeptRunning, type ProgramEnd } from './kept-running.js'
import { machineProcesses } from './process-identity.js'
import { ProcessRegistry } from './process-registry.js'
import { readLines } from './read-lines.js'

const folder = temporaryFolders()
const newRegistry = (): ProcessRegistry => new ProcessRegistry(join(folder(), 'processes.json'), machineProcesses)

function start(script: string): Promise<Child> {
  const env = { PATH: process.env.PATH ?? '' }
  return startChild(
    { file: process.execPath, args: ['-e', script], env, stdout: 'pipe', stderr: 'pipe' },
    newRegistry(),
  )
}

function firstLine(child: Child): Promise<string> {
  return new Promise((resolve) => readLines(child.stdout!, resolve))
}

describe('startChild', () => {
  it('starts a program that leads its own session', async () => {
    const child = await start('console.log(1); setInterval(() => {}, 1000)')
    await firstLine(child)
    expect(machineProcesses.find(child.pid)?.session).toBe(child.pid)
    child.signal('SIGKILL')
    expect(describeExit(await child.exited)).toBe('was ended by SIGKILL')
    expect(child.isRunning).toBe(false)
  })

  it('rejects with the reason of the system', async () => {
    const options = { file: '/no/such/program', args: [], env: {}, stdout: 'pipe', stderr: 'pipe' } as const
    await expect(startChild(options, newRegistry())).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('ends what a program leaves running', async () => {
    const child = await start(
      'const c = require("node:child_process").spawn("sleep", ["600"], { stdio: "ignore" }); console.log(c.pid); c.unref(); process.stdout.once("drain", () => {})',
    )
    const left = Number(await firstLine(child))
    expect(await child.exited).toEqual({ code: 0, signal: null })
    while (machineProcesses.find(left) !== undefined) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(machineProcesses.find(left)).toBeUndefined()
  })

  it('ends a program by force that does not end in time, and waits for one that does', async () => {
    const stubborn = await start('process.on("SIGTERM", () => {}); console.log(1); setInterval(() => {}, 1000)')
    await firstLine(stubborn)
    stubborn.signal('SIGTERM')
    expect(await stubborn.endWithin(50)).toEqual({ code: null, signal: 'SIGKILL' })
    const obedient = await start(
      'process.on("SIGTERM", () => process.exit(3)); console.log(1); setInterval(() => {}, 1000)',
    )
    await firstLine(obedient)
    obedient.signal('SIGTERM')
    expect(await obedient.endWithin(30_000)).toEqual({ code: 3, signal: null })
  })
})

describe('KeptRunning', () => {
  const limits = { firstMs: 0.5, lastMs: 4, steadyMs: 60_000 }
  /** The longest of the possible pauses. */
  const random = (): number => 1

  function keep(script: string, restarts: (starts: number) => boolean) {
    const ends: ProgramEnd[] = []
    const children: Child[] = []
    const kept = new KeptRunning({
      start: () => start(script),
      onStarted: async (child) => void children.push(child),
      onEnded: (end) => ends.push(end),
      restarts: () => restarts(ends.length + 1),
      limits,
      random,
    })
    return { kept, ends, children }
  }

  it('starts a program again with growing pauses, until it may end', async () => {
    const { kept, ends, children } = keep('process.exit(2)', (starts) => starts < 4)
    await kept.run()
    expect(ends.map(({ restartInMs }) => restartInMs)).toEqual([1, 2, 4, undefined])
    expect(ends.map(({ failures }) => failures)).toEqual([1, 2, 3, 4])
    expect(ends[0]?.exit).toEqual({ code: 2, signal: null })
    expect(new Set(children.map(({ pid }) => pid)).size).toBe(4)
  })

  it('does not start it again once it is told to end', async () => {
    const { kept, ends } = keep('setInterval(() => {}, 1000)', () => true)
    const run = kept.run()
    while (kept.child === undefined) await new Promise((resolve) => setImmediate(resolve))
    await kept.end(async (child) => child.signal('SIGKILL'))
    await run
    expect(ends).toHaveLength(1)
    expect(ends[0]).not.toHaveProperty('restartInMs')
    expect(kept.child).toBeUndefined()
  })

  it('can be ended while it is being started, and before', async () => {
    const { kept } = keep('setInterval(() => {}, 1000)', () => true)
    const run = kept.run()
    await kept.end(async () => undefined)
    await run
    expect(kept.child).toBeUndefined()
    const never = keep('', () => true)
    await never.kept.end(async () => undefined)
    await never.kept.run()
    expect(never.children).toEqual([])
  })

  it('tells what kept it from starting', async () => {
    const ends: ProgramEnd[] = []
    const kept = new KeptRunning({
      start: () => Promise.reject(new Error('no')),
      onStarted: async () => undefined,
      onEnded: (end) => ends.push(end),
      restarts: (exit) => exit === undefined && ends.length === 0,
      limits,
      random,
    })
    await kept.run()
    expect(ends).toMatchObject([{ error: new Error('no'), restartInMs: 1 }, { error: new Error('no') }])
  })
})
