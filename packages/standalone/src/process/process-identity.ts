import { readdirSync, readFileSync } from 'node:fs'

/** A process as the kernel shows it. */
export interface SeenProcess {
  readonly pid: number
  /** The session that it belongs to: each of our children is made the leader of one. */
  readonly session: number
  /** Clock ticks between boot and start: tells a process from a later one with the same number. */
  readonly started: number
}

/** What is looked up about processes. Elsewhere than on Linux nothing is known, and so nothing is ever taken for ours. */
export interface ProcessTable {
  /** Differs after every boot; undefined where it can't be told. */
  readonly bootId: () => string | undefined
  readonly find: (pid: number) => SeenProcess | undefined
  readonly list: () => readonly SeenProcess[]
  /** Value of a variable of the process's first environment, if it may be looked at. */
  readonly variable: (pid: number, name: string) => string | undefined
}

/** The processes of this machine. */
export const machineProcesses: ProcessTable = Object.freeze({
  bootId: () => tryRead('/proc/sys/kernel/random/boot_id')?.trim(),
  find: findProcess,
  list: () => processNumbers().flatMap((pid) => findProcess(pid) ?? []),
  variable: (pid: number, name: string) => {
    const entries = tryRead(`/proc/${pid}/environ`)?.split('\0') ?? []
    return entries.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1)
  },
})

function findProcess(pid: number): SeenProcess | undefined {
  const stat = tryRead(`/proc/${pid}/stat`)
  return stat === undefined ? undefined : parseStat(pid, stat)
}

/** The second field is the name of the program in parentheses and may hold anything, spaces and parentheses too. */
export function parseStat(pid: number, stat: string): SeenProcess | undefined {
  const [state, , , session, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const started = rest[15]
  // A zombie has ended: it is only waiting for its parent to look.
  if (state === undefined || state === 'Z' || session === undefined || started === undefined) return undefined
  return { pid, session: Number(session), started: Number(started) }
}

function processNumbers(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

function tryRead(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
