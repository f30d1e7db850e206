import { readdir, readFile } from 'node:fs/promises'

const TICKS_PER_SECOND = 100
const MEBIBYTE = 2 ** 20

/** Seconds of processor time that a process has taken, with all its threads. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The name of the program is in parentheses, and may hold blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Milliseconds of processor time that a process takes while something is done. */
export async function cpuMsOf<T>(
  pid: number,
  action: () => Promise<T>,
): Promise<{ readonly result: T; readonly cpuMs: number }> {
  const before = await cpuSecondsOf(pid)
  const result = await action()
  return { result, cpuMs: ((await cpuSecondsOf(pid)) - before) * 1000 }
}

/** Memory of a process that is in RAM, in MiB. */
export async function residentMiBOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  if (kilobytes === undefined) throw new Error(`process ${pid} has no resident memory`)
  return (Number(kilobytes) * 1024) / MEBIBYTE
}

/** Processes that a process has started and that run. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').flatMap((word) => (word.trim() === '' ? [] : [Number(word)]))
}

/** Files and connections that a process has open. */
export async function descriptorsOf(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length
}
