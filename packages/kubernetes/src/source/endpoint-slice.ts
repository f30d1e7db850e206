import type { KubernetesObject } from '../api.js'
import type { Deduplicator } from './deduplicator.js'

/** Label by which a slice names its Service. */
export const serviceNameLabel = 'kubernetes.io/service-name'

/** A slice of the endpoints of a service. */
export interface SliceItem {
  readonly service: string
  readonly ports: readonly SlicePort[]
  readonly endpoints: readonly SliceEndpoint[]
}

/** A port of all endpoints of a slice. The name is that of the port of the Service, empty for a port without one. */
export interface SlicePort {
  readonly name: string
  readonly port: number
}

/** Somewhere the service runs. */
export interface SliceEndpoint {
  readonly addresses: readonly string[]
  /** `ready` takes traffic; `draining` is about to end but still serves; `out` does neither. */
  readonly state: 'ready' | 'draining' | 'out'
  /** Name of the pod, in the namespace of the slice. */
  readonly pod?: string
  readonly hostname?: string
  readonly zone?: string
}

interface SliceFields {
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[] | null
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[]
        readonly conditions?: {
          readonly ready?: boolean | null
          readonly serving?: boolean | null
          readonly terminating?: boolean | null
        }
        readonly targetRef?: { readonly kind?: string; readonly name?: string }
        readonly hostname?: string | null
        readonly zone?: string | null
      }[]
    | null
}

/** Keeps of a slice what the mesh reads; undefined for slices of no service. */
export function readSlice(raw: KubernetesObject, deduplicator: Deduplicator): SliceItem | undefined {
  const service = raw.metadata.labels?.[serviceNameLabel]
  if (service === undefined || service === '' || raw.metadata.deletionTimestamp !== undefined) return undefined
  // The API server has checked what it stores against its own types.
  const { ports, endpoints } = raw as SliceFields
  const tcp = (ports ?? []).flatMap(({ name, port, protocol }) =>
    // Only TCP is carried by the mesh; a port without number would mean any.
    port === undefined || (protocol ?? 'TCP') !== 'TCP' ? [] : [{ name: name ?? '', port }],
  )
  return {
    service: deduplicator.text(service),
    ports: deduplicator.value(tcp),
    endpoints: (endpoints ?? []).map(({ addresses = [], conditions = {}, targetRef, hostname, zone }) => ({
      addresses: [...addresses],
      state: stateOf(conditions),
      ...(targetRef?.kind === 'Pod' && targetRef.name ? { pod: targetRef.name } : {}),
      ...(hostname ? { hostname } : {}),
      ...(zone ? { zone: deduplicator.text(zone) } : {}),
    })),
  }
}

/** What is not said counts as good, as Kubernetes has it. */
function stateOf({
  ready,
  serving,
  terminating,
}: {
  readonly ready?: boolean | null
  readonly serving?: boolean | null
  readonly terminating?: boolean | null
}): SliceEndpoint['state'] {
  if (ready ?? true) return 'ready'
  return terminating === true && (serving ?? true) ? 'draining' : 'out'
}
