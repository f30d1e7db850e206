import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { errorMessage, eventually } from '@osm-ts/driver-api/toolkit'

import type { LocalMode } from '../format.js'
import { localInstance } from './local-instance.js'
import type { LocalMesh } from './local-scenario-runner.js'

const FILE = 'scenario.yaml'
const START_MS = 60_000
/** Sidecars drain before they end. */
const STOP_MS = 60_000
const DEBUG_MS = 10_000
/** No one calls a workload that a scenario takes away, and its successor waits until it has ended. */
const MAX_DRAIN_SECONDS = '0.1'
/** How anyone who ends says that it was told to. */
const WELL_ENDED = 'exited with code 0'
/** What is kept of what happened, for anyone who has to find a cause. */
const KEPT_NOTES = 8

/** What a {@link ProgramMesh} is started with. */
export interface ProgramMeshOptions {
  /** The program `osm`: an executable, or a module for Node.js. */
  readonly osm: string
  /** Class of sidecars that workloads have. */
  readonly sidecarClass: string
  readonly mode: LocalMode
  /** More arguments of `osm standalone run`, such as where the class comes from and what runs as its sidecar. */
  readonly arguments: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What the program says of what happens, a JSON object on a line, as far as this reads it. */
interface MeshEvent {
  readonly type: string
  readonly state?: string
  readonly namespace?: string
  readonly instance?: string
  readonly detail?: string
  readonly pid?: number
  readonly problems?: readonly { readonly code: string; readonly message: string }[]
}

/** A mesh that `osm standalone run` runs, as its users run theirs. */
export class ProgramMesh implements LocalMesh {
  readonly stateFolder: string
  readonly #scratch: string
  readonly #child: ChildProcess
  readonly #exited: Promise<void>
  readonly #sidecars = new Map<string, number>()
  readonly #notes: string[] = []
  #controllerPid: number | undefined
  #controllerUrl: string | undefined
  #hasExited = false

  private constructor(options: ProgramMeshOptions, scratch: string) {
    this.#scratch = scratch
    this.stateFolder = join(scratch, 'state')
    const isModule = ['.mjs', '.js', '.cjs'].includes(extname(options.osm))
    const [program, first] = isModule ? [process.execPath, [options.osm]] : [options.osm, []]
    const { sidecarClass, mode, arguments: more } = options
    const chosen = [
      '--state',
      this.stateFolder,
      '--class',
      sidecarClass,
      '--max-drain',
      MAX_DRAIN_SECONDS,
      ...(mode === 'transparent' ? ['--transparent'] : []),
    ]
    this.#child = spawn(
      program,
      [...first, 'standalone', 'run', join(scratch, 'mesh'), '-o', 'json', ...chosen, ...more],
      { env: { ...options.environment }, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    // Its progress matters only if it ends.
    const said: string[] = []
    this.#exited = new Promise((resolve) => {
      const end = (how: string): void => {
        this.#hasExited = true
        for (const line of said) this.#note(`osm: ${line}`)
        this.#note(`osm ${how}`)
        resolve()
      }
      this.#child.once('error', (error) => end(`cannot be run: ${error.message}`))
      this.#child.once('exit', (code, signal) => end(`ended with ${String(signal ?? code)}`))
    })
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line))
    if (this.#child.stderr !== null)
      createInterface({ input: this.#child.stderr }).on('line', (line) => {
        said.push(line)
        if (said.length > KEPT_NOTES) said.shift()
      })
  }

  /**
   * Starts a mesh whose folder holds these documents, and waits for its controller.
   *
   * @throws if the controller does not run in time
   */
  static async start(options: ProgramMeshOptions, documents: readonly string[]): Promise<ProgramMesh> {
    const scratch = mkdtempSync(join(tmpdir(), 'osm-scenarios-'))
    mkdirSync(join(scratch, 'mesh'))
    await writeDocuments(scratch, documents)
    const mesh = new ProgramMesh(options, scratch)
    try {
      await eventually(
        () => mesh.#controllerUrl !== undefined || mesh.#hasExited,
        (done) => done,
        { what: 'that the controller runs', timeoutMs: START_MS },
      )
      if (mesh.#hasExited) throw new Error('osm ended before the controller ran')
      return mesh
    } catch (error) {
      const what = errorMessage(error)
      await mesh.stop()
      throw new Error(`${what}\n${mesh.trail()}`, { cause: error })
    }
  }

  /** Process of the controller; undefined while none runs. */
  get controllerPid(): number | undefined {
    return this.#controllerPid
  }

  /** Process of the sidecar of a workload, or of one instance of it; undefined while none runs. */
  sidecarPid(workload: string): number | undefined {
    const [namespace = ''] = workload.split('/')
    return this.#sidecars.get(`${namespace}/${localInstance(this.stateFolder, workload).name}`)
  }

  /** What happened last that somebody may want to know who looks for the cause of a failure. It names no folder of this machine's. */
  trail(): string {
    return this.#notes.join('\n')
  }

  write(documents: readonly string[]): Promise<void> {
    return writeDocuments(this.#scratch, documents)
  }

  async debug(path: string): Promise<string> {
    if (this.#hasExited) throw new Error('the mesh has ended')
    if (this.#controllerUrl === undefined) throw new Error('the controller does not answer')
    const response = await fetch(`${this.#controllerUrl}${path}`, { signal: AbortSignal.timeout(DEBUG_MS) })
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`)
    return response.text()
  }

  async stop(): Promise<void> {
    const force = setTimeout(() => this.#kill(), STOP_MS)
    if (!this.#hasExited) this.#child.kill('SIGTERM')
    await this.#exited
    clearTimeout(force)
    rmSync(this.#scratch, { recursive: true, force: true })
  }

  /** No one is left then who would end its children; each leads its own group. */
  #kill(): void {
    this.#child.kill('SIGKILL')
    for (const pid of [...this.#sidecars.values(), this.#controllerPid ?? 0]) {
      if (pid === 0) continue
      try {
        process.kill(-pid, 'SIGKILL')
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  #take(line: string): void {
    const event = parseEvent(line)
    if (event === undefined) return
    const { type, state, namespace = '', instance = '', detail = '', pid } = event
    if ((state === 'exited' || state === 'failed') && detail !== WELL_ENDED)
      this.#note(`${type}${instance === '' ? '' : ` of ${namespace}/${instance}`} ${state}: ${detail}`)
    if (type === 'problems') for (const { code, message } of event.problems ?? []) this.#note(`${code}: ${message}`)
    if (type === 'sidecar') {
      if (state === 'started' && pid !== undefined) this.#sidecars.set(`${namespace}/${instance}`, pid)
      if (state === 'exited') this.#sidecars.delete(`${namespace}/${instance}`)
    }
    if (type === 'controller') {
      if (state === 'started') this.#controllerPid = pid
      if (state === 'ready') this.#controllerUrl = detail
      if (state === 'exited') this.#controllerPid = this.#controllerUrl = undefined
    }
  }

  #note(text: string): void {
    const note = text.replaceAll(this.#scratch, '…')
    if (this.#notes.includes(note)) return
    this.#notes.push(note)
    if (this.#notes.length > KEPT_NOTES) this.#notes.shift()
  }
}

/** As editors write files: as a whole. Secrets are taken from files that are closed to others only. */
async function writeDocuments(scratch: string, documents: readonly string[]): Promise<void> {
  await writeFile(join(scratch, FILE), documents.join('---\n'), { mode: 0o600 })
  await rename(join(scratch, FILE), join(scratch, 'mesh', FILE))
}

function parseEvent(line: string): MeshEvent | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && 'type' in value ? (value as MeshEvent) : undefined
  } catch {
    return undefined
  }
}
