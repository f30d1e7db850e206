import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { eventually } from '@osm-ts/driver-api/toolkit'

import { ChildProgram } from '../../api/harness/index.js'
import type { CollectedSpan, TraceBackend } from './traced-chain.js'

/** How a program that takes spans is started. */
export interface TraceProgramStart {
  /** Path of the program; set-up has built it. */
  readonly file: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly ports: TraceBackend['ports']
  /** Further URLs that have to answer before it is ready. */
  readonly answering?: readonly string[]
}

/** A real program that takes spans, as OTLP and in the way of Zipkin. */
export abstract class TraceProgram implements TraceBackend {
  protected readonly folder: string
  readonly #name: string
  #program: ChildProgram | undefined
  #ports: TraceBackend['ports'] = { otlp: 0, zipkin: 0 }

  protected constructor(name: string) {
    this.#name = name
    this.folder = mkdtempSync(join(tmpdir(), `osm-${name}-`))
  }

  abstract get spans(): readonly CollectedSpan[]

  /** Prepares the start of the program. */
  protected abstract prepare(): Promise<TraceProgramStart>

  /** Ports of the loopback. */
  get ports(): TraceBackend['ports'] {
    return this.#ports
  }

  /** Starts it, and waits until it takes spans. What was started is stopped if that fails. */
  protected async begin(): Promise<this> {
    try {
      await this.#begin()
      return this
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.#program?.stop()
    rmSync(this.folder, { recursive: true })
  }

  async #begin(): Promise<void> {
    const { file, args = [], env = {}, ports, answering = [] } = await this.prepare()
    this.#ports = ports
    const program = new ChildProgram({ name: this.#name, file, args, env, logFile: join(this.folder, 'log') })
    this.#program = program
    await eventually(
      async () => {
        if (!program.isRunning) throw new Error(`${this.#name} has ended:\n${program.lastWords()}`)
        const answers = await Promise.all([
          answersOk(`http://127.0.0.1:${ports.otlp}/v1/traces`, '{}'),
          answersOk(`http://127.0.0.1:${ports.zipkin}/api/v2/spans`, '[]'),
          ...answering.map((url) => answersOk(url)),
        ])
        return answers.every(Boolean)
      },
      (isReady) => isReady,
      { what: `${this.#name} to take spans` },
    )
  }
}

async function answersOk(url: string, body?: string): Promise<boolean> {
  const sent = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const answer = await fetch(url, sent).catch(() => undefined)
  return answer?.ok === true
}
