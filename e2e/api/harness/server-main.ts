/**
 * An API server of its own, until standard input ends or a signal comes. Prints one line of JSON when it is ready: its description.
 * The test run starts it; by hand it gives a cluster to try things on.
 */
import { once } from 'node:events'
import { programsFrom, startApiServer } from './start-api-server.js'

const abort = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    abort.abort()
  })
}
process.stdin.once('end', () => {
  abort.abort()
})
process.stdin.once('error', () => {
  abort.abort()
})
process.stdin.resume()

try {
  const server = await startApiServer(programsFrom(process.env), abort.signal)
  try {
    process.stdout.write(`${JSON.stringify(server.description)}\n`)
    if (!abort.signal.aborted) await once(abort.signal, 'abort')
  } finally {
    await server.stop()
  }
} catch (error) {
  // Anyone who asked it to end while it started need not be told that it did not.
  if (!abort.signal.aborted) throw error
} finally {
  process.stdin.destroy()
}
