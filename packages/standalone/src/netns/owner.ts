import { readFileSync } from 'node:fs'

/** The process that a mesh network belongs to: what it makes bears its mark, and no one else removes it while the process lives. */
export interface Owner {
  readonly pid: number
  /** Tells the process from a later one with the same number: when it started, in clock ticks since boot, cut to ten bits. */
  readonly started: number
}

const startedLimit = 1024

/** The running process `pid`, or undefined when there is none. */
export function findOwner(pid: number): Owner | undefined {
  try {
    return { pid, started: startTicks(readFileSync(`/proc/${String(pid)}/stat`, 'latin1')) % startedLimit }
  } catch {
    return undefined
  }
}

/** The second field is the name of the program in parentheses and may hold anything; the start time is the 20th after it. */
function startTicks(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
}

/** True while the very process runs, not another one with its number. */
export function isOwnerRunning(owner: Owner): boolean {
  return findOwner(owner.pid)?.started === owner.started
}

/** The mark in names: short, since a network interface name has 15 characters in all and a process number may take seven. */
export function ownerMark({ pid, started }: Owner): string {
  return pid.toString(36) + started.toString(36).padStart(2, '0')
}

/** Reads {@link ownerMark} back. */
export function parseOwnerMark(mark: string): Owner | undefined {
  if (!/^[0-9a-z]{3,7}$/.test(mark)) return undefined
  const pid = Number.parseInt(mark.slice(0, -2), 36)
  const started = Number.parseInt(mark.slice(-2), 36)
  return pid > 0 && started < startedLimit ? { pid, started } : undefined
}

/** The mark in routes, which bear no name: their metric. Process numbers have 22 bits at the most, so it fits into 32. */
export function ownerMetric({ pid, started }: Owner): number {
  return pid * startedLimit + started
}

/** Reads {@link ownerMetric} back. */
export function parseOwnerMetric(metric: number): Owner {
  return { pid: Math.floor(metric / startedLimit), started: metric % startedLimit }
}
