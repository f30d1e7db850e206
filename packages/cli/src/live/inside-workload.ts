import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

import { isRecord } from '@osm-ts/driver-api/toolkit'

/** One answer that was got from inside a network namespace. */
export interface InsideAnswer {
  /** When it was complete, in milliseconds since 1970. */
  readonly time: number
  readonly durationMs: number
  /** 0 if there was none. */
  readonly status: number
  /** The `identity` header. */
  readonly server: string | undefined
  readonly body: string
}

/** What to ask, and where. */
export interface InsideRequests {
  /** A process whose network, and whose names of hosts, count. */
  readonly pid: number
  readonly nodeProgram: string
  readonly url: string
  readonly times: number
}

/** Part of util-linux, which every Linux has. */
const enterNamespaces = 'nsenter'

/** Runs in the namespace. A connection for each request; one line of JSON for each answer. */
const script = `
const http = require('node:http')
const [url, times] = process.argv.slice(1)
let left = Number(times)
const lane = () => {
  if (left-- <= 0) return
  const start = Date.now()
  let told = false
  const tell = (status, server, body) => {
    if (told) return
    told = true
    const time = Date.now()
    process.stdout.write(JSON.stringify({ time, durationMs: time - start, status, server, body }) + '\\n')
    lane()
  }
  http
    .get(url, { agent: false, timeout: 5000 }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text) => (body += text))
      answer.on('end', () => tell(answer.statusCode, answer.headers.identity, body))
      answer.on('error', () => tell(0))
    })
    .on('timeout', function () { this.destroy() })
    .on('error', () => tell(0))
}
for (let lanes = 0; lanes < 8; lanes += 1) lane()
`

/** Sends GET requests from where a workload of transparent mode has its network. Resolves when all are answered or the program there has ended. */
export async function getFromInside(
  { pid, nodeProgram, url, times }: InsideRequests,
  { signal, onAnswer }: { signal: AbortSignal; onAnswer: (answer: InsideAnswer) => void },
): Promise<void> {
  const args = ['--target', String(pid), '--net', '--mount', nodeProgram, '-e', script, url, String(times)]
  const child = spawn(enterNamespaces, args, { stdio: ['ignore', 'pipe', 'ignore'], env: {}, signal })
  createInterface(child.stdout).on('line', (line) => {
    const answer = parseAnswer(line)
    if (answer !== undefined) onAnswer(answer)
  })
  await new Promise<void>((resolve) => {
    // Whatever ended it: answers that are missing tell all there is to tell.
    child.on('error', () => resolve())
    child.on('close', () => resolve())
  })
}

function parseAnswer(line: string): InsideAnswer | undefined {
  const value: unknown = JSON.parse(line)
  if (!isRecord(value)) return undefined
  const { time, durationMs, status, server, body } = value
  if (typeof time !== 'number' || typeof durationMs !== 'number' || typeof status !== 'number') return undefined
  return {
    time,
    durationMs,
    status,
    server: typeof server === 'string' ? server : undefined,
    body: typeof body === 'string' ? body : '',
  }
}
