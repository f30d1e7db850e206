import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { endProcess } from '../../api/harness/child-program.js'
import { childrenOf, cpuSecondsOf } from '../../bench/scale/process-figures.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const osm = join(root, 'packages/cli/dist/osm.mjs')
/** No load may reach it. */
const START_MS = 120_000

/** The bookstore of the demo on a copy of its folder, and its dashboard. */
export class RunningDashboard {
  /** The page that `osm demo --dashboard` serves. */
  readonly ofDemo: string
  /** The page that `osm dashboard` serves. */
  readonly url: string
  /** Folder of the mesh, which may be edited. */
  readonly mesh: string
  /** Of the mesh. */
  readonly state: string
  readonly #folder: string
  readonly #programs: readonly ChildProcess[]

  private constructor(folder: string, programs: readonly ChildProcess[], urls: { ofDemo: string; url: string }) {
    this.#folder = folder
    this.#programs = programs
    this.mesh = join(folder, 'examples/bookstore/mesh')
    this.state = join(folder, 'state')
    this.ofDemo = urls.ofDemo
    this.url = urls.url
  }

  static async start(): Promise<RunningDashboard> {
    const folder = mkdtempSync(join(tmpdir(), 'osm-ui-'))
    cpSync(join(root, 'examples/bookstore'), join(folder, 'examples/bookstore'), {
      recursive: true,
      filter: (path) => !path.includes('node_modules') && !path.endsWith('dist'),
    })
    const programs: ChildProcess[] = []
    const start = async (args: readonly string[], pattern: RegExp): Promise<string> => {
      const child = spawn(process.execPath, [osm, ...args, '--state', join(folder, 'state')], { cwd: folder })
      programs.push(child)
      return saidBy(child, pattern)
    }
    try {
      const ofDemo = await start(['demo', '--dashboard'], /^dashboard: (http:\S+)$/m)
      const options = ['--local-port', '0', '--open-browser=false']
      const url = await start(['dashboard', ...options], /^(http:\S+)$/m)
      return new RunningDashboard(folder, programs, { ofDemo, url })
    } catch (error) {
      await end(programs, folder)
      throw error
    }
  }

  /** Milliseconds of processors that the controller has used so far. */
  async controllerMs(): Promise<number> {
    const { pid } = JSON.parse(readFileSync(join(this.state, 'mesh.json'), 'utf8')) as { readonly pid: number }
    const own = (await childrenOf(pid)).find((child) =>
      readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('controller'),
    )
    if (own === undefined) throw new Error('the controller does not run')
    return (await cpuSecondsOf(own)) * 1000
  }

  async stop(): Promise<void> {
    await end(this.#programs, this.#folder)
  }
}

/** What a program says in the form of the pattern, on either output. */
async function saidBy(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const timer = setTimeout(() => reject(new Error(`no ${pattern.source} in:\n${said}`)), START_MS)
    const hear = (chunk: Buffer): void => {
      said += chunk.toString()
      const found = pattern.exec(said)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    }
    child.stdout?.on('data', hear)
    child.stderr?.on('data', hear)
    child.once('close', (code) => {
      clearTimeout(timer)
      reject(new Error(`the program ended with ${code ?? 'a signal'}:\n${said}`))
    })
  })
}

async function end(programs: readonly ChildProcess[], folder: string): Promise<void> {
  await Promise.all(programs.map((child) => endProcess(child, 'SIGINT')))
  rmSync(folder, { recursive: true, force: true })
}
