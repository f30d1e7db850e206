/** Sends a signal to a process, or to the group that a negative number names. False if there is none (any more), or it belongs to others. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
