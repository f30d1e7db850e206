import type { KubernetesObject } from '@osm-ts/kubernetes'
import { type WorkloadNetwork, runTool } from '@osm-ts/standalone/testing'
import type { Service } from './objects.js'

interface Slice extends KubernetesObject {
  readonly endpoints?: readonly SliceEndpoint[] | null
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null
}

interface SliceEndpoint {
  readonly addresses: readonly string[]
  readonly conditions: { readonly ready?: boolean }
}

const chain = 'STAND_IN_SERVICES'

/**
 * Rules by which a connection to a port of a Service ends at one of its ready endpoints, chosen at random for each connection: what kube-proxy
 * writes. A Service without endpoints has none.
 */
export function translationRules(services: readonly Service[], slices: readonly KubernetesObject[]): readonly string[] {
  return services.flatMap(({ metadata, spec: { clusterIP = 'None', ports = [] } }) => {
    if (clusterIP === 'None') return []
    const own = (slices as readonly Slice[]).filter(
      (slice) =>
        slice.metadata.namespace === metadata.namespace &&
        slice.metadata.labels?.['kubernetes.io/service-name'] === metadata.name,
    )
    return ports.flatMap(({ name = '', port, protocol = 'TCP' }) => {
      const targets = own.flatMap((slice) => targetsOf(slice, name))
      const match = `-A ${chain} -d ${clusterIP}/32 -p ${protocol.toLowerCase()} --dport ${String(port)}`
      return targets.map((target, index) => {
        const left = targets.length - index
        const chosen = left === 1 ? '' : ` -m statistic --mode random --probability ${(1 / left).toFixed(6)}`
        return `${match}${chosen} -j DNAT --to-destination ${target}`
      })
    })
  })
}

function targetsOf({ endpoints, ports }: Slice, portName: string): readonly string[] {
  const port = ports?.find(({ name = '' }) => name === portName)?.port
  if (port === undefined) return []
  const ready = (endpoints ?? []).filter(({ conditions }) => conditions.ready === true)
  return ready.flatMap(({ addresses }) => addresses).map((address) => `${address}:${String(port)}`)
}

/** Puts these rules in place of those that a pod had; connections that are open stay where they are. */
export async function translate(
  { namespace }: Pick<WorkloadNetwork, 'namespace'>,
  rules: readonly string[],
  isFirst: boolean,
): Promise<void> {
  const text = ['*nat', `:${chain} - [0:0]`, ...(isFirst ? [`-A OUTPUT -j ${chain}`] : []), ...rules, 'COMMIT', '']
  const args = ['netns', 'exec', namespace, 'iptables-restore', '--noflush', '--wait=10']
  await runTool('ip', args, { input: text.join('\n') })
}
