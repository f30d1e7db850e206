import { execFile } from 'node:child_process'
import { OsmError } from '@osm-ts/driver-api'
import { isRecord } from '@osm-ts/driver-api/toolkit'
import type { NetnsErrorCode } from '../errors.js'

/** What to give a program besides its arguments. */
export interface ToolOptions {
  readonly input?: string
  readonly signal?: AbortSignal
}

// Every program used here answers within milliseconds; one that waits for a lock of another gets a chance, and no more.
const timeoutMs = 30_000
const maxOutputBytes = 16 * 1024 * 1024

/**
 * Runs a program without a shell and gives its standard output.
 *
 * A signal keeps the program from being started, but does not end it: it takes milliseconds, and what it makes must be there, or not be
 * there, when cleaning up begins.
 *
 * @throws OsmError OSM_NETNS_COMMAND with what the program said, or OSM_NETNS_UNSUPPORTED when there is no such program
 */
export async function runTool(file: string, args: readonly string[], options: ToolOptions = {}): Promise<string> {
  options.signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const settings = { encoding: 'utf8', timeout: timeoutMs, maxBuffer: maxOutputBytes } as const
    const child = execFile(file, args, settings, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(toolError(file, args, error, stderr))
    })
    // A program that ends without reading its input says why by its status.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(options.input ?? '')
  })
}

function toolError(file: string, args: readonly string[], cause: Error, stderr: string): OsmError<NetnsErrorCode> {
  const command = [file, ...args].join(' ')
  if ('code' in cause && cause.code === 'ENOENT') {
    return new OsmError('OSM_NETNS_UNSUPPORTED', `${file} is not installed; it is needed for transparent mode`, {
      cause,
      details: { command },
    })
  }
  const said = stderr.trim().slice(0, 1000)
  return new OsmError('OSM_NETNS_COMMAND', `${command} failed: ${said === '' ? cause.message : said}`, {
    cause,
    details: { command, stderr: said },
  })
}

/** Runs the lines of an `ip` batch, in the host's or the named network namespace; the first line that fails ends it. */
export async function runIpBatch(lines: readonly string[], namespace?: string, signal?: AbortSignal): Promise<void> {
  const where = namespace === undefined ? [] : ['-n', namespace]
  await runTool('ip', [...where, '-batch', '-'], { input: `${lines.join('\n')}\n`, ...(signal && { signal }) })
}

/** Runs `ip -j` and gives what it listed; `ip` prints nothing at all for some empty lists. */
export async function listByIp(
  args: readonly string[],
  signal?: AbortSignal,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const output = await runTool('ip', ['-j', ...args], signal && { signal })
  const listed: unknown = output.trim() === '' ? [] : JSON.parse(output)
  return Array.isArray(listed) ? listed.filter(isRecord) : []
}
