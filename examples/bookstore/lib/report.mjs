// Every result is one line of JSON on standard output, for anyone who watches: a person, a script, or the table of the demo.

/**
 * Makes the function that tries something against `target` and reports how it went.
 *
 * `attempt` gives { status, server } or throws; a try without any answer has status 0. The line carries what this client has counted so
 * far: `succeeded` are the tries with a status of 200 to 299.
 */
export function createReporter(client) {
  let succeeded = 0
  let failed = 0
  return async function report({ target, path, timeoutMs = 5000, signal }, attempt) {
    const started = performance.now()
    const limit = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])])
    const result = await attempt(limit).catch((error) => ({ status: 0, error: reasonOf(error, limit) }))
    // What was cut off by our own end says nothing about the mesh.
    if (signal?.aborted) return result
    if (result.status >= 200 && result.status < 300) succeeded += 1
    else failed += 1
    const { status, server, error } = result
    const ms = Math.round(performance.now() - started)
    process.stdout.write(
      `${JSON.stringify({ t: Date.now(), client, target, path, status, server, error, ms, succeeded, failed })}\n`,
    )
    return result
  }
}

function reasonOf(error, limit) {
  if (limit.aborted && limit.reason?.name === 'TimeoutError') return 'no answer in time'
  return error.code ?? error.message
}
