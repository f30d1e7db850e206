import { spawn } from 'node:child_process'
import { once } from 'node:events'

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
    | {
        readonly kind: 'open'
        readonly seconds: number
        /** Each rate for as long, one after the other. */
        readonly rates: readonly number[]
        /** As fast as it can, before any rate, and then at the rate before that counts. */
        readonly warmUpSeconds: { readonly closed: number; readonly open: number }
      }
}

/** How it went. */
export interface LoadResult {
  /** Milliseconds of every review. */
  readonly latencies: readonly number[]
  readonly seconds: number
}

/**
 * Runs the load in its own process. Gives one result for each rate, and one for a closed loop.
 *
 * @param program - the bundle of injection-load-main.ts
 */
export async function runLoad(program: string, options: LoadOptions): Promise<readonly LoadResult[]> {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the load ended with ${String(code)}`)
  return JSON.parse(output) as readonly LoadResult[]
}
