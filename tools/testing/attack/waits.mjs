import { readFileSync } from 'node:fs'

/**
 * Measures elapsed milliseconds without the time in which the main thread of the process, or this thread, waited for a processor. The result is at least the processor
 * time of the main thread. Where the kernel has no such figures, the result is all elapsed time.
 * @param {number | undefined} pid
 * @returns {() => () => number}
 */
export function waitsFor(pid) {
  return () => {
    const [begin, server, own] = [performance.now(), schedule(String(pid)), schedule('self')]
    return () => {
      const passed = performance.now() - begin
      const [after, ownAfter] = [schedule(String(pid)), schedule('self')]
      const kept = after.keptMs - server.keptMs + ownAfter.keptMs - own.keptMs
      return Math.max(after.workedMs - server.workedMs, passed - kept)
    }
  }
}

/**
 * Processor time of the main thread of a process, and the time that it waited for a processor.
 * @param {string} pid
 */
function schedule(pid) {
  try {
    const [worked, kept] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')
    return { workedMs: Number(worked) / 1e6, keptMs: Number(kept) / 1e6 }
  } catch {
    return { workedMs: 0, keptMs: 0 }
  }
}
