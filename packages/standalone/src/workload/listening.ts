import { readFileSync, statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const LOOK_AGAIN_MS = 20
const LISTENING = '0A'

/** What is waited for. */
export interface ExpectedListener {
  readonly pid: number
  readonly ports: readonly number[]
  readonly withinMs: number
  /** Path of the network namespace that the process enters after its start; absent if it stays in that of its parent. */
  readonly networkNamespace?: string
}

/**
 * Resolves when something listens on all of the ports in the network of the process, when the time is over, or when the signal aborts.
 *
 * Until the process has entered its network namespace, its tables are those of this machine, where others may listen on the same ports.
 *
 * Looking into the kernel's tables disturbs no one, unlike a connection, which would be a first request to some programs. Where there are no
 * such tables there is nothing to wait for.
 */
export async function untilListening(
  { pid, ports, withinMs, networkNamespace }: ExpectedListener,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!signal.aborted && performance.now() < deadline) {
    // In this order: a process that enters its namespace in between must not be taken for one whose ports are open.
    const inside = isInside(pid, networkNamespace)
    const open = listeningPorts(pid)
    if (open === undefined || (inside && ports.every((port) => open.has(port)))) return
    await pause(LOOK_AGAIN_MS)
  }
}

function isInside(pid: number, networkNamespace: string | undefined): boolean {
  if (networkNamespace === undefined) return true
  const [own, expected] = [`/proc/${pid}/ns/net`, networkNamespace].map((path) =>
    statSync(path, { bigint: true, throwIfNoEntry: false }),
  )
  return own !== undefined && own.ino === expected?.ino && own.dev === expected.dev
}

/** Ports that anything listens on in the network of the process; undefined where that can't be told. */
export function listeningPorts(pid: number): ReadonlySet<number> | undefined {
  const tables = ['tcp', 'tcp6'].map((name) => tryRead(`/proc/${pid}/net/${name}`))
  if (tables.every((table) => table === undefined)) return undefined
  return new Set(tables.flatMap((table) => parseTcpTable(table ?? '')))
}

/** Listening ports of a table such as /proc/net/tcp: number, local address, remote address, state, all in hexadecimal. */
export function parseTcpTable(table: string): readonly number[] {
  return table.split('\n').flatMap((line) => {
    const [, local, , state] = line.trim().split(/\s+/)
    const port = local?.split(':')[1]
    return state === LISTENING && port !== undefined ? [Number.parseInt(port, 16)] : []
  })
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
