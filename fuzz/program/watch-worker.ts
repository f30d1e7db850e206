import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

import { currentInputFile } from './folders.js'
import type { WorkerMessage } from './worker-message.js'

/** A worker that tells nothing for so long hangs: it tells something each second, and no input may take as long. */
const SILENCE_MS = 120_000
const PROGRESS_MS = 10_000
/** The least heap with which all targets run; a target that needs more has a finding. */
const HEAP_MB = 1024
const KEPT_ERROR_CHARACTERS = 4096

/** What a target came to. */
export interface TargetResult {
  readonly target: string
  readonly inputs: number
  /** See `Coverage.reached`. */
  readonly reached: number
  /** Inputs that were begun with, and those that reached something new. */
  readonly corpus: number
  readonly finding?: {
    /** Base64. */
    readonly input: string
    readonly message: string
  }
}

/** Runs one target in its own process: one that hangs, or takes all memory, is a finding as well. */
export async function watchWorker(
  target: string,
  seconds: string,
  seed: string,
  say: (line: string) => void,
): Promise<TargetResult> {
  const args = [
    `--max-old-space-size=${HEAP_MB}`,
    process.argv[1] ?? '',
    '--worker',
    target,
    '--seconds',
    seconds,
    '--seed',
    seed,
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (errors = `${errors}${text}`.slice(-KEPT_ERROR_CHARACTERS)))
  let result: TargetResult = { target, inputs: 0, reached: 0, corpus: 0 }
  let isDone = false
  let told = performance.now()
  const patience = new AbortController()
  const watchdog = setTimeout(() => {
    patience.abort()
    child.kill('SIGKILL')
  }, SILENCE_MS)
  for await (const line of createInterface({ input: child.stdout })) {
    watchdog.refresh()
    const message = JSON.parse(line) as WorkerMessage
    if (message.kind === 'finding') {
      result = { ...result, finding: { input: message.input, message: message.message } }
      continue
    }
    const { inputs, reached, corpus } = message
    result = { ...result, inputs, reached, corpus }
    isDone = message.kind === 'done'
    if (!isDone && performance.now() - told < PROGRESS_MS) continue
    told = performance.now()
    say(`${inputs} inputs, ${reached} reached, corpus ${corpus}`)
  }
  clearTimeout(watchdog)
  if (isDone) return result
  const message = patience.signal.aborted ? `takes more than ${SILENCE_MS / 1000} s` : `the process ended: ${errors}`
  return { ...result, finding: { input: currentInput(target), message } }
}

function currentInput(target: string): string {
  const file = currentInputFile(target)
  return existsSync(file) ? readFileSync(file).toString('base64') : ''
}
