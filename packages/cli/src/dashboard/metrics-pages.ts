import type { MeshSource } from '../commands/mesh-source.js'
import { getFromPod } from '../kubernetes/open-cluster.js'
import type { AskedProxy, DebugApi } from '../state/debug-api.js'
import { httpGet } from '../state/http-get.js'

/** Path of the metrics of a sidecar, of every class. */
const METRICS_PATH = '/stats/prometheus'
/** Port of the metrics of sidecars in pods. */
const METRICS_PORT = 15_010
const TIMEOUT_MS = 2000

/** Gives the metrics of a sidecar as text; undefined if nothing serves them. Rejects if it does not answer. */
export type GetMetrics = (proxy: AskedProxy & { readonly name: string }) => Promise<string | undefined>

/**
 * How metrics of sidecars are read: in a cluster by port-forward, on this machine where the policy has them served. Network namespaces of the
 * transparent mode are not entered.
 */
export function metricsPages(source: MeshSource, policy: DebugApi['policy'], signal: AbortSignal): GetMetrics {
  if (source.kind === 'cluster')
    return async ({ name: fullName }) => {
      const [namespace = '', name = ''] = fullName.split('/')
      const { status, body } = await getFromPod(source.cluster, { namespace, name }, METRICS_PORT, METRICS_PATH)
      return status === 200 ? body : undefined
    }
  if (source.mesh.mode === 'transparent') return async () => undefined
  const addresses = new Map<string, string>()
  return async ({ uuid, identity }) => {
    let host = addresses.get(uuid)
    if (host === undefined) {
      const { metrics } = (await policy({ uuid, identity })).proxy.listen
      if (metrics === undefined) return undefined
      host = `${metrics.address}:${metrics.port}`
      addresses.set(uuid, host)
    }
    const { status, body } = await httpGet(`http://${host}${METRICS_PATH}`, { signal, timeoutMs: TIMEOUT_MS })
    return status === 200 ? body : undefined
  }
}
