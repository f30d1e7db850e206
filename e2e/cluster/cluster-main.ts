/**
 * Makes, shows and removes a cluster. `npm run cluster` starts it with one argument, the request as JSON; what the request needs is there
 * by then.
 */
import { ClusterError } from './provider.js'
import { performRequest, type ClusterRequest } from './request.js'

const request = JSON.parse(process.argv[2] ?? '{}') as ClusterRequest
const abort = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    // Anyone who asks twice does not want to wait for the end of cleaning up; `down` removes what that leaves.
    if (abort.signal.aborted) process.exit(130)
    abort.abort(new ClusterError(`${request.command} was interrupted`))
  })
}
try {
  process.exitCode = await performRequest(request, abort.signal)
} catch (error) {
  if (!(error instanceof ClusterError)) throw error
  process.stderr.write(`osm-ts: ${error.message}\n`)
  process.exitCode = 1
}
