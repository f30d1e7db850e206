import { describe, expect, it } from '@jest/globals'

import { MeshFixture, objectsOf, uuidOf } from '../../../../test/catalog/mesh-fixture.js'

const document = (apiVersion: string, kind: string, name: string, spec: string, annotations = '{}'): string => {
  const [namespace = '', own = ''] = name.split('/')
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: ${own}, namespace: ${namespace}, labels: { app: ${own} }, annotations: ${annotations} }\nspec: ${spec}\n---\n`
}
const service = (name: string, spec: string, annotations?: string): string =>
  document('v1', 'Service', name, `{ selector: { app: ${name.split('/')[1] ?? ''} }, ${spec} }`, annotations)
const headless = 'clusterIP: None, ports: [{ name: tcp-db, port: 5432, targetPort: 5432 }]'
const workload = (name: string, spec: string): string =>
  document('standalone.openservicemesh.io/v1alpha1', 'Workload', name, spec)
const instance = (name: string, address: string, more = ''): string =>
  document(
    'standalone.openservicemesh.io/v1alpha1',
    'WorkloadInstance',
    name,
    `{ uuid: ${uuidOf(name)}, workload: x, serviceAccountName: x, sidecarClass: envoy, mode: transparent, addresses: [${address}], ports: [{ port: 5432 }], ready: true, createdAt: '2026-01-01T00:00:00Z'${more} }`,
  )
const settings = (permissive: boolean, more = ''): string =>
  document(
    'config.openservicemesh.io/v1alpha2',
    'MeshConfig',
    'osm-system/osm-mesh-config',
    `{ traffic: { enablePermissiveTrafficPolicyMode: ${String(permissive)}${more} }, featureFlags: { enableEgressPolicy: true } }`,
  )
const egress = document(
  'policy.openservicemesh.io/v1alpha1',
  'Egress',
  'victim/database',
  '{ sources: [{ kind: ServiceAccount, name: teller, namespace: victim }], ipAddresses: [198.51.100.0/24], ports: [{ number: 5432, protocol: tcp }] }',
)
const teller = workload('victim/teller', '{ serviceAccountName: teller, command: [x] }')

/** Addresses by which the teller of `victim` is led to a service. */
function addressesOf(fixture: MeshFixture, id: string): readonly string[] | undefined {
  return Object.values(fixture.document('victim/teller-0').parts).flatMap((part) =>
    part.kind === 'outbound' && part.id === id ? [part.addresses] : [],
  )[0]
}

function meshOf(text: string, running = ''): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply(objectsOf(text + running))
  return fixture
}

describe('an address that a namespace only writes down', () => {
  it.each([
    ['with a sidecar', 'sidecar: true', ''],
    ['to which the mesh speaks plaintext', 'sidecar: false', ", plaintextNamespaces: ['*']"],
  ])('of a workload %s takes no traffic of others who are let out to it', (_what, sidecar, more) => {
    const trap = workload('aaa/trap', `{ serviceAccountName: mal, address: 198.51.100.9, ${sidecar} }`)
    const fixture = meshOf(settings(true, more) + teller + egress + trap + service('aaa/trap', headless))
    expect(addressesOf(fixture, 'aaa/trap|5432')).toEqual([])
  })

  it.each([
    ['of a headless Service', headless, undefined],
    [
      'of a Service that takes calls of the addresses of pods',
      'clusterIP: 10.96.0.9, ports: [{ name: tcp-db, port: 5432, targetPort: 5432 }]',
      "{ openservicemesh.io/pod-addresses: 'enabled' }",
    ],
  ])('by a machine %s takes no traffic of others either', (_what, spec, annotations) => {
    const text = settings(true) + teller + egress + service('aaa/trap', spec, annotations)
    const fixture = meshOf(text, instance('aaa/trap', '198.51.100.9', ', isMachine: true'))
    expect(addressesOf(fixture, 'aaa/trap|5432') ?? []).not.toContain('198.51.100.9')
    expect(addressesOf(fixture, 'aaa/*.trap|5432') ?? []).toEqual([])
  })

  it('by a machine does not take the address of a pod of another namespace', () => {
    const text = settings(true) + teller + service('aaa/trap', headless) + service('victim/bank', headless)
    const fixture = meshOf(text, instance('victim/bank', '10.0.0.7'))
    expect(addressesOf(fixture, 'victim/bank|5432')).toEqual(['10.0.0.7'])
    fixture.apply(objectsOf(instance('aaa/trap', '10.0.0.7', ', isMachine: true')))
    expect(addressesOf(fixture, 'victim/bank|5432')).toEqual(['10.0.0.7'])
    expect(addressesOf(fixture, 'aaa/trap|5432')).toEqual([])
    expect(fixture.catalog.problems()).toMatchObject([
      { code: 'OSM_POLICY_ADDRESS_WRITTEN', severity: 'warning', object: { namespace: 'aaa', name: 'trap' } },
    ])
  })
})
