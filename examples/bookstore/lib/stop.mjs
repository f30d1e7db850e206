// How every program of this example ends.

/** A signal that is aborted when the program is told to stop, or when no one reads its output any more. */
export function stopSignal() {
  const controller = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT']) process.once(name, () => controller.abort())
  process.stdout.once('error', () => controller.abort())
  return controller.signal
}
