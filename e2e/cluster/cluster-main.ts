/**
 * Makes, shows and removes a cluster. `npm run cluster` starts it with one argument, the request as JSON; what the request needs is there
 * by then.
 */
import { ClusterError } from './provider.js'
import { performRequest, type ClusterRequest } from './request.js'

const abort = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => abort.abort(new ClusterError('interrupted; everything of the cluster has been removed')))
}
try {
  process.exitCode = await performRequest(JSON.parse(process.argv[2] ?? '{}') as ClusterRequest, abort.signal)
} catch (error) {
  if (!(error instanceof ClusterError)) throw error
  process.stderr.write(`osm-ts: ${error.message}\n`)
  process.exitCode = 1
}
