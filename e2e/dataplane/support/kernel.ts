import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

import { endProcess } from '../../api/harness/child-program.js'

/** Why tests that change network namespaces can't run here; undefined when they can. */
export function kernelTestObstacle(): string | undefined {
  if (process.platform !== 'linux') return `network namespaces need Linux, and this is ${process.platform}`
  if (process.getuid?.() !== 0)
    return 'network namespaces need root; run this tier as root, for instance in a container of its own'
  const tools = ['ip', 'iptables-save', 'iptables-restore', 'ip6tables-save', 'ip6tables-restore', 'setpriv']
  const missing = tools.filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
  return missing.length === 0
    ? undefined
    : `missing programs: ${missing.join(', ')} (Debian packages iproute2, iptables, util-linux)`
}

/** Runs a program to its end and gives its output; throws with what it said when it fails. */
export function run(file: string, args: readonly string[], input?: string): string {
  const { status, stdout, stderr, error } = spawnSync(file, args, { encoding: 'utf8', input: input ?? '' })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${String(status)}: ${stderr}`)
  return stdout
}

/** `<host>:<port>` as the words that a connection says and hears. */
export interface Endpoint {
  readonly host: string
  readonly port: number
}

/** How to start a program somewhere else: the words to put before its own. */
export type Prefix = readonly string[]

/** Opens TCP listeners that greet every connection with `<label>:<port>` and close it; resolves when all are open. */
export async function startGreeters(
  prefix: Prefix,
  label: string,
  endpoints: readonly Endpoint[],
): Promise<{ stop(): Promise<void> }> {
  const program = `
    const net = require('node:net')
    const endpoints = JSON.parse(process.argv[1])
    process.stdin.on('end', () => process.exit()).resume() // ends with the test, however that ends
    let open = 0
    for (const { host, port } of endpoints) {
      const server = net.createServer((socket) => { socket.on('error', () => {}); socket.end(process.argv[2] + ':' + port) })
      server.listen({ host, port, ipv6Only: host.includes(':') }, () => { if (++open === endpoints.length) console.log('open') })
    }`
  const child = start(prefix, ['-e', program, JSON.stringify(endpoints), label])
  const stop = (): Promise<void> => endProcess(child)
  const [first] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as readonly unknown[]
  if (String(first).trim() === 'open') return { stop }
  await stop()
  throw new Error(`listeners of ${label} did not open: ${String(first)}`)
}

/** Connects and gives the greeting, or the error code, such as ECONNREFUSED; `no answer` after a while. */
export function greeting(prefix: Prefix, { host, port }: Endpoint, timeoutMs = 10_000): string {
  const program = `
    const [host, port, timeout] = process.argv.slice(1)
    const socket = require('node:net').connect({ host, port, timeout: Number(timeout) })
    let heard = ''
    socket.on('data', (data) => { heard += data })
    socket.on('timeout', () => { console.log('no answer'); process.exit() })
    socket.on('error', (error) => { console.log(error.code); process.exit() })
    socket.on('end', () => { console.log(heard); process.exit() })`
  const [file, ...args] = [...prefix, process.execPath, '-e', program, host, String(port), String(timeoutMs)]
  return run(file, args).trim()
}

function start(prefix: Prefix, args: readonly string[]): ChildProcessByStdio<Writable, Readable, null> {
  const [file = process.execPath, ...rest]: readonly string[] = [...prefix, process.execPath, ...args]
  return spawn(file, rest, { stdio: ['pipe', 'pipe', 'inherit'] })
}

/** Names of the network namespaces of this machine. */
export function namespaceNames(): readonly string[] {
  return run('ip', ['netns', 'list'])
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '')
    .filter((name) => name !== '')
}

/** Removes namespaces called `<prefix><pid>-…` whose process has ended, such as those of a test run that was killed. */
export function removeLeftovers(prefix: string): void {
  for (const name of namespaceNames().filter((found) => found.startsWith(prefix))) {
    if (!isRunning(Number.parseInt(name.slice(prefix.length), 10))) run('ip', ['netns', 'delete', name])
  }
}

/** True while there is a process of this number that has not ended. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
