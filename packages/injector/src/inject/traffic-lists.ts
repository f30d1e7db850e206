import type { MeshConfig } from '@osm-ts/core'
import type { InjectorContext } from '@osm-ts/driver-api'
import { parseIpRange } from '@osm-ts/interception'

import { annotations } from '../annotations/annotation.js'
import { readInterfaces, readIpRanges, readPorts } from '../annotations/values.js'

/** Traffic that bypasses the sidecar. */
export type TrafficLists = Pick<
  InjectorContext,
  | 'inboundPortExclusionList'
  | 'outboundPortExclusionList'
  | 'outboundIPRangeInclusionList'
  | 'outboundIPRangeExclusionList'
  | 'networkInterfaceExclusionList'
>

/**
 * Lists of MeshConfig and of the pod's annotations, joined.
 *
 * @throws OsmError `OSM_INJECT_ANNOTATION`
 */
export function trafficLists({ traffic }: MeshConfig, pod: Readonly<Record<string, string>>): TrafficLists {
  const owner = 'the pod'
  const ports = (mesh: readonly number[], name: string): readonly number[] =>
    [...new Set([...mesh, ...readPorts(pod[name], name, owner)])].sort((a, b) => a - b)
  const ranges = (mesh: readonly string[], name: string): readonly string[] => {
    const canonical = mesh.map((range) => parseIpRange(range)?.text ?? range)
    return [...new Set([...canonical, ...readIpRanges(pod[name], name, owner)])].sort()
  }
  const interfaces = readInterfaces(pod[annotations.interfaceExclusions], annotations.interfaceExclusions, owner)
  return {
    inboundPortExclusionList: ports(traffic.inboundPortExclusionList, annotations.inboundPortExclusions),
    outboundPortExclusionList: ports(traffic.outboundPortExclusionList, annotations.outboundPortExclusions),
    outboundIPRangeInclusionList: ranges(traffic.outboundIPRangeInclusionList, annotations.outboundIpRangeInclusions),
    outboundIPRangeExclusionList: ranges(traffic.outboundIPRangeExclusionList, annotations.outboundIpRangeExclusions),
    networkInterfaceExclusionList: [...new Set([...traffic.networkInterfaceExclusionList, ...interfaces])].sort(),
  }
}
