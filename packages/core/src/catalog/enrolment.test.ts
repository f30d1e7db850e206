import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'

import { meshConfig, MeshFixture, objectsOf } from '../../test/catalog/mesh-fixture.js'
import { makeObjectKey } from '../spec/index.js'

const text = readFileSync(new URL('testdata/in/enrolment.yaml', import.meta.url), 'utf8')
const from = { namespace: 'bank', name: 'ledger' }

function mesh(traffic = {}): MeshFixture {
  const fixture = new MeshFixture()
  const settings = { enablePermissiveTrafficPolicyMode: true, plaintextNamespaces: ['shop'], ...traffic }
  fixture.apply([...objectsOf(text), meshConfig({ traffic: settings })])
  return fixture
}

/** Addresses of an upstream, those in plaintext marked. */
function endpointsOf(fixture: MeshFixture, id: string): readonly string[] | undefined {
  const parts = Object.values(fixture.document('bank/ledger-0').parts)
  const endpoints = parts.flatMap((part) => (part.kind === 'endpoints' && part.id === id ? part.endpoints : []))
  return endpoints.map(({ address, tls }) => (tls === undefined ? address : `${address} ${tls.mode}`))
}

function problemsOf({ catalog }: MeshFixture, code: string): readonly string[] {
  return catalog.problems().flatMap((problem) => (problem.code === code ? [problem.message] : []))
}

describe('services of which some endpoints have no sidecar', () => {
  it('get traffic in plaintext there in namespaces that the configuration names, and only there', () => {
    const fixture = mesh()
    expect(endpointsOf(fixture, 'shop/store|8080')).toEqual(['10.0.0.1', '192.0.2.10 none'])
    expect(endpointsOf(fixture, 'bank/ledger|7000')).toEqual(['10.0.1.1'])
    expect(endpointsOf(fixture, 'bank/vault|80')).toEqual([])
    const everywhere = mesh({ plaintextNamespaces: ['*'] })
    expect(endpointsOf(everywhere, 'bank/vault|80')).toEqual(['192.0.2.21 none'])
  })

  it('get nothing in plaintext under SMI policy, whatever the configuration names', () => {
    const fixture = mesh({ enablePermissiveTrafficPolicyMode: false })
    const texts = [...fixture.documents().values()].map((document) => JSON.stringify(document.parts))
    expect(texts.length).toBeGreaterThan(0)
    for (const parts of texts) {
      expect(parts).not.toContain('plaintext')
      expect(parts).not.toContain('192.0.2.')
    }
    for (const { proxy } of fixture.documents().values()) expect(proxy.ingress).toEqual([])
  })

  it('are reported with what becomes of their traffic', () => {
    const found = problemsOf(mesh(), 'OSM_POLICY_WITHOUT_SIDECAR')
    expect(found).toContain(
      'no endpoint has a sidecar (192.0.2.21), so that the service is unreachable from the mesh; restart its workloads to give them sidecars',
    )
    expect(found).toContain(
      '1 of 2 endpoints have no sidecar (192.0.2.20) and get no traffic from the mesh; restart their workloads to give them sidecars',
    )
    expect(found).toContain(
      '1 of 2 endpoints have no sidecar (192.0.2.10); the mesh speaks plaintext to them, because spec.traffic.plaintextNamespaces of the MeshConfig names namespace shop',
    )
  })

  it('are no longer reported when the last one without a sidecar is gone', () => {
    const fixture = mesh()
    fixture.apply(
      [],
      ['store-old', 'ledger-old', 'vault'].map((name) =>
        makeObjectKey('Workload', name === 'store-old' ? 'shop' : 'bank', name),
      ),
    )
    expect(problemsOf(fixture, 'OSM_POLICY_WITHOUT_SIDECAR')).toEqual([])
  })

  it('let in callers without a sidecar, once for each port of a workload', () => {
    const ingress = mesh()
      .document('shop/store-0')
      .proxy.ingress.map(({ id }) => id)
    expect(ingress).toEqual(['shop/store|5432', 'shop/store|8080'])
    expect(mesh().document('bank/ledger-0').proxy.ingress).toEqual([])
  })

  it('are unreachable to osm policy can where none has a sidecar', () => {
    const to = { namespace: 'bank', name: 'vault' }
    expect(mesh().catalog.decisions.access({ from, to })).toMatchObject({
      allowed: false,
      reason: 'unreachable: none of the workloads behind Service bank/vault has a sidecar',
      decisions: [{ unreachable: true }],
    })
    const clear = mesh({ plaintextNamespaces: ['bank'] }).catalog.decisions.access({ from, to })
    expect(clear.allowed).toBe(true)
    expect(clear.reason).toContain('in plaintext, because the workloads have no sidecar')
  })
})

describe('a Service without a selector', () => {
  const to = { namespace: 'bank', name: 'legacy' }
  const outboundIds = (fixture: MeshFixture): readonly string[] =>
    Object.values(fixture.document('bank/ledger-0').parts).flatMap(({ kind, id }) => (kind === 'outbound' ? [id] : []))

  it('is outside the mesh while nothing of the mesh is behind it', () => {
    const fixture = mesh()
    expect(outboundIds(fixture)).toContain('bank/vault|80')
    expect(outboundIds(fixture)).not.toContain('bank/legacy|80')
    expect(fixture.catalog.decisions.access({ from, to }).reason).toContain('Service bank/legacy is outside the mesh')
  })

  it('is opened by an Egress that names its host or address', () => {
    const fixture = mesh()
    fixture.apply(
      objectsOf(`apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: legacy, namespace: bank }
spec:
  sources: [{ kind: ServiceAccount, name: ledger, namespace: bank }]
  hosts: [legacy.bank]
  ipAddresses: [10.96.0.30/32]
  ports: [{ number: 80, protocol: http }, { number: 81, protocol: tcp }]
`),
    )
    expect(problemsOf(fixture, 'OSM_POLICY_EGRESS_MESH')).toEqual([])
    const egress = Object.values(fixture.document('bank/ledger-0').parts).filter(({ kind }) => kind === 'egress')
    expect(egress).toHaveLength(2)
  })

  it('belongs to the mesh as the apex of a TrafficSplit', () => {
    const fixture = mesh()
    fixture.apply(
      objectsOf(`apiVersion: split.smi-spec.io/v1alpha2
kind: TrafficSplit
metadata: { name: legacy, namespace: bank }
spec: { service: legacy, backends: [{ service: vault, weight: 1 }] }
`),
    )
    expect(outboundIds(fixture)).toContain('bank/legacy|80')
  })

  it('with a selector stays in the mesh when nothing is behind it', () => {
    const fixture = mesh()
    fixture.apply([], [makeObjectKey('Workload', 'bank', 'vault')])
    expect(outboundIds(fixture)).toContain('bank/vault|80')
  })
})
