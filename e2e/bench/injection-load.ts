import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** Seconds that the program of the load runs as fast as it can, and then at the fixed rate, before that counts. */
export const OWN_WARM_UP_SECONDS = 4

/** What is asked of the injector, and how often. */
export interface LoadOptions {
  /** Of the webhook. */
  readonly url: string
  /** Name in its certificate. */
  readonly serverName: string
  /** Root that verifies it, PEM. */
  readonly ca: string
  readonly connections: number
  readonly load:
    | { readonly kind: 'closed'; readonly seconds: number }
    | { readonly kind: 'open'; readonly seconds: number; readonly perSecond: number }
}

/** How it went. */
export interface LoadResult {
  /** Milliseconds of every review. */
  readonly latencies: readonly number[]
  readonly seconds: number
}

/**
 * Runs the load in a process of its own.
 *
 * @param program - the bundle of injection-load-main.ts
 */
export async function runLoad(program: string, options: LoadOptions): Promise<LoadResult> {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the load ended with ${String(code)}`)
  return JSON.parse(output) as LoadResult
}
