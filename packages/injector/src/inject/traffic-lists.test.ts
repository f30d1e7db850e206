import { describe, expect, it } from '@jest/globals'
import { readObjects, resolveMeshConfig, type KindMap, type MeshConfig } from '@osm-ts/core'

import { trafficLists } from './traffic-lists.js'

const prefix = 'openservicemesh.io/'

function configOf(traffic: string): MeshConfig {
  const { objects } = readObjects(
    `apiVersion: config.openservicemesh.io/v1alpha2\nkind: MeshConfig\nmetadata: { name: osm-mesh-config }\nspec: { traffic: ${traffic} }\n`,
  )
  const { spec } = objects[0] as unknown as KindMap['MeshConfig']
  const options = { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} }
  return resolveMeshConfig(spec, options, { object: undefined, locate: () => undefined }).config
}

/** Each list: its name in MeshConfig, its annotation, what both say, and both together. */
const lists = [
  ['inboundPortExclusionList', 'inbound-port-exclusion-list', '[9000, 80]', '8080, 80', [80, 8080, 9000]],
  ['outboundPortExclusionList', 'outbound-port-exclusion-list', '[6379]', '3306', [3306, 6379]],
  [
    'outboundIPRangeExclusionList',
    'outbound-ip-range-exclusion-list',
    '[10.1.2.3/8]',
    '192.0.2.0/24',
    ['10.0.0.0/8', '192.0.2.0/24'],
  ],
  [
    'outboundIPRangeInclusionList',
    'outbound-ip-range-inclusion-list',
    '[10.0.0.0/8]',
    '10.0.0.0/8,fd00::/8',
    ['10.0.0.0/8', 'fd00::/8'],
  ],
  ['networkInterfaceExclusionList', 'network-interface-exclusion-list', '[net1]', 'net2, net1', ['net1', 'net2']],
] as const

describe('lists of traffic that bypasses the sidecar', () => {
  it.each(lists)('%s of MeshConfig and annotation %s are joined', (field, annotation, mesh, pod, expected) => {
    const { [field]: joined, ...others } = trafficLists(configOf(`{ ${field}: ${mesh} }`), {
      [`${prefix}${annotation}`]: pod,
    })
    expect(joined).toEqual(expected)
    expect(Object.values(others)).toEqual([[], [], [], []])
  })

  it.each(lists.map(([field, , mesh]) => [field, mesh] as const))(
    '%s of MeshConfig holds for pods that say nothing',
    (field, mesh) => {
      expect(trafficLists(configOf(`{ ${field}: ${mesh} }`), {})[field]).not.toEqual([])
    },
  )

  it.each(lists.map(([, annotation]) => annotation))('a pod with a bad %s is refused by its name', (annotation) => {
    expect(() => trafficLists(configOf('{}'), { [`${prefix}${annotation}`]: '--flag' })).toThrow(annotation)
  })
})
