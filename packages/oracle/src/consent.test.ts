import { describe, expect, it } from '@jest/globals'

import { Oracle, type OracleObject } from './index.js'

const egress = (namespace: string): OracleObject => ({
  kind: 'Egress',
  metadata: { name: 'out', namespace },
  spec: {
    sources: [{ kind: 'ServiceAccount', name: 'teller', namespace: 'victim' }],
    hosts: ['example.com'],
    ports: [{ number: 80, protocol: 'http' }],
  },
})
const grant = (to: object, namespace = 'aaa'): OracleObject => ({
  kind: 'ReferenceGrant',
  metadata: { name: 'grant', namespace: 'victim' },
  spec: { from: [{ group: 'policy.openservicemesh.io', kind: 'Egress', namespace }], to: [to] },
})
const switched: OracleObject = {
  kind: 'MeshConfig',
  metadata: { name: 'osm-mesh-config', namespace: 'osm-system' },
  spec: { traffic: { crossNamespace: { egress: true } } },
}

function outcome(...objects: readonly OracleObject[]): string {
  const oracle = new Oracle(objects, { participates: (namespace) => namespace !== 'osm-system' })
  const request = { method: 'GET', target: '/', headers: {} }
  const from = { namespace: 'victim', name: 'teller' }
  return oracle.decideEgress({ from, host: 'example.com', port: 80, protocol: 'http', request }).outcome
}

describe('an Egress and accounts of other namespaces', () => {
  it.each<[string, string, readonly OracleObject[]]>([
    ['its own namespace', 'allow', [egress('victim')]],
    ['another namespace', 'deny', [egress('aaa')]],
    ['the namespace of the control plane', 'allow', [egress('osm-system')]],
    ['a namespace with a grant', 'allow', [egress('aaa'), grant({ group: '', kind: 'ServiceAccount' })]],
    [
      'a namespace with a grant for another account',
      'deny',
      [egress('aaa'), grant({ group: '', kind: 'ServiceAccount', name: 'clerk' })],
    ],
    ['a namespace with a grant for another kind', 'deny', [egress('aaa'), grant({ group: '', kind: 'Service' })]],
    [
      'a namespace where another one has a grant',
      'deny',
      [egress('aaa'), grant({ group: '', kind: 'ServiceAccount' }, 'bbb')],
    ],
    ['any namespace where the mesh asks for no grants', 'allow', [egress('aaa'), switched]],
  ])('in %s: %s', (_title, expected, objects) => {
    expect(outcome(...objects)).toBe(expected)
  })
})
