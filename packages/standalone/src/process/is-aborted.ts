/** Whether a signal is aborted by now. A call, since the compiler takes a property that it has seen once for what it was then. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted
}
