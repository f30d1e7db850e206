import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const osm = fileURLToPath(new URL('../../../packages/cli/dist/osm.mjs', import.meta.url))

/** What `osm demo --once --json` says in its last line, as far as tests read it. */
export interface DemoResult {
  readonly ok: boolean
  readonly failures?: readonly unknown[]
  readonly split?: readonly { readonly backends: readonly { readonly service: string; readonly wanted: number }[] }[]
}

/**
 * Runs the demo to its end, as a user would, but with its own state folder: two demos of one working directory refuse each other, and
 * test files run side by side.
 *
 * @param onStart - told the number of its process
 */
export async function runDemo(
  args: readonly string[],
  onStart: (pid: number) => void = () => undefined,
): Promise<{ readonly code: number | null; readonly result: DemoResult; readonly trail: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-demo-'))
  try {
    return await demoIn(join(folder, 'state'), args, onStart)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function demoIn(
  state: string,
  args: readonly string[],
  onStart: (pid: number) => void,
): ReturnType<typeof runDemo> {
  const child = spawn(process.execPath, [osm, 'demo', '--once', '--json', '--state', state, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (child.pid !== undefined) onStart(child.pid)
  let output = ''
  let trail = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (trail += chunk.toString()))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const last = output.trimEnd().split('\n').at(-1) ?? ''
  try {
    return { code, result: JSON.parse(last) as DemoResult, trail }
  } catch (cause) {
    throw new Error(`the demo's last line is not JSON: ${last}\n${trail}`, { cause })
  }
}
