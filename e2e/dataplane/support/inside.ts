import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { TestMesh } from './mesh.js'
import { run } from './kernel.js'

const execute = promisify(execFile)

/** User of the programs that tests run inside workloads: anybody but the sidecar's. */
const UID = '1234'

/** What returned. `error` instead of the rest if nothing did. */
export interface InsideAnswer {
  readonly status?: number
  /** What the application calls itself. */
  readonly server?: string
  /** Common name of the client's certificate as the application saw it. */
  readonly client?: string
  /** The first line that a TCP server sent. */
  readonly line?: string
  readonly error?: string
}

/** How a workload asks something outside. */
export type Question =
  | {
      readonly kind: 'http' | 'https'
      /** Where the connection goes, whatever the request says. */
      readonly dial: string
      readonly port: number
      /** The `Host` header, and the server name of `https`. */
      readonly host: string
      readonly method?: string
      readonly path?: string
    }
  | { readonly kind: 'tcp'; readonly dial: string; readonly port: number; readonly say?: string }

/** A workload's network namespace in transparent mode, as a program inside sees it. */
export interface Inside {
  readonly address: string
  readonly ask: (question: Question) => Promise<InsideAnswer>
}

const program = `
const question = JSON.parse(process.argv[1])
const { kind, dial, port, host, method = 'GET', path = '/', say } = question
const tell = (answer) => { console.log(JSON.stringify(answer)); process.exit() }
setTimeout(() => tell({ error: 'no answer' }), 8000)
if (kind === 'tcp') {
  const socket = require('node:net').connect(port, dial)
  let heard = ''
  socket.on('connect', () => { if (say !== undefined) socket.write(say + '\\n') })
  socket.on('data', (data) => { heard += data; if (heard.includes('\\n')) tell({ line: heard.split('\\n')[0] }) })
  socket.on('error', (error) => tell({ error: error.code }))
  socket.on('close', () => tell({ error: 'closed' }))
} else {
  const request = require('node:' + kind).request({
    host: dial, port, method, path, agent: false, servername: kind === 'https' ? host.split(':')[0] : undefined,
    rejectUnauthorized: false, headers: { host },
  }, (response) => {
    let body = ''
    response.on('data', (data) => { body += data })
    response.on('error', (error) => tell({ error: error.code }))
    response.on('end', () => {
      let parsed = {}
      try { parsed = JSON.parse(body) } catch {}
      tell({ status: response.statusCode, server: parsed.server, client: parsed.client })
    })
  })
  request.on('error', (error) => tell({ error: error.code }))
  request.end()
}`

/** Steps into the namespace of a workload that runs. */
export function inside(mesh: TestMesh, workload: string): Inside {
  const { pid } = mesh.instance(workload)
  if (pid === undefined) throw new Error(`${workload} does not run`)
  const namespace = run('ip', ['netns', 'identify', String(pid)]).trim()
  if (namespace === '') throw new Error(`${workload} has no network namespace of its own`)
  const links = JSON.parse(run('ip', ['-n', namespace, '-j', '-4', 'address', 'show', 'scope', 'global'])) as readonly {
    readonly addr_info?: readonly { readonly local: string }[]
  }[]
  const [address] = links.flatMap(({ addr_info = [] }) => addr_info.map(({ local }) => local))
  if (address === undefined) throw new Error(`${workload} has no address`)
  return { address, ask: (question) => askInside(namespace, question) }
}

/** Asks as a program in a network namespace that is no sidecar. */
export async function askInside(namespace: string, question: Question): Promise<InsideAnswer> {
  const command = ['setpriv', `--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', process.execPath, '-e', program]
  const { stdout } = await execute('ip', ['netns', 'exec', namespace, ...command, JSON.stringify(question)])
  return JSON.parse(stdout) as InsideAnswer
}
