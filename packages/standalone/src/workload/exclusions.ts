import type { KindMap, MeshConfig } from '@osm-ts/core'
import type { InjectorContext } from '@osm-ts/driver-api'

type Exclusions = Pick<
  InjectorContext,
  | 'inboundPortExclusionList'
  | 'outboundPortExclusionList'
  | 'outboundIPRangeInclusionList'
  | 'outboundIPRangeExclusionList'
  | 'networkInterfaceExclusionList'
>

/** Traffic that bypasses the sidecar: lists of MeshConfig and of the workload's annotations, joined. */
export function exclusions({ traffic }: MeshConfig, { metadata: { annotations } }: KindMap['Workload']): Exclusions {
  const texts = (mesh: readonly string[], name: string): readonly string[] =>
    [...new Set([...mesh, ...annotationItems(annotations, name)])].sort()
  const ports = (mesh: readonly number[], name: string): readonly number[] =>
    [...new Set([...mesh, ...annotationItems(annotations, name).map(Number)])].sort((a, b) => a - b)
  return {
    inboundPortExclusionList: ports(traffic.inboundPortExclusionList, 'inbound-port-exclusion-list'),
    outboundPortExclusionList: ports(traffic.outboundPortExclusionList, 'outbound-port-exclusion-list'),
    outboundIPRangeInclusionList: texts(traffic.outboundIPRangeInclusionList, 'outbound-ip-range-inclusion-list'),
    outboundIPRangeExclusionList: texts(traffic.outboundIPRangeExclusionList, 'outbound-ip-range-exclusion-list'),
    networkInterfaceExclusionList: texts(traffic.networkInterfaceExclusionList, 'network-interface-exclusion-list'),
  }
}

function annotationItems(annotations: Readonly<Record<string, string>>, name: string): readonly string[] {
  const text = annotations[`openservicemesh.io/${name}`] ?? ''
  return text.split(',').flatMap((item) => item.trim() || [])
}
