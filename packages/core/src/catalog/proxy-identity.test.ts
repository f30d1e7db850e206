import { describe, expect, it } from '@jest/globals'
import { canonicalJson } from '@osm-ts/driver-api/policy'

import { MeshFixture, objectsOf } from '../../test/catalog/mesh-fixture.js'
import { proxyKeyOfInstance } from '../identity/index.js'
import { objectKey, type KindMap } from '../spec/index.js'

type Instance = KindMap['WorkloadInstance']

/** A bank that tellers of its namespace may ask, and a workload of a namespace that sorts before it. */
const text = `
apiVersion: v1
kind: Service
metadata: { name: bank, namespace: victim }
spec: { selector: { app: bank }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: mal, namespace: aaa }
spec: { selector: { app: mal }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: bank, namespace: victim }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: teller, namespace: victim }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: mallory, namespace: aaa }
---
apiVersion: specs.smi-spec.io/v1alpha4
kind: HTTPRouteGroup
metadata: { name: public, namespace: victim }
spec: { matches: [{ name: public, pathRegex: /public/.*, methods: [GET] }] }
---
apiVersion: access.smi-spec.io/v1alpha3
kind: TrafficTarget
metadata: { name: teller, namespace: victim }
spec:
  destination: { kind: ServiceAccount, name: bank, namespace: victim }
  rules: [{ kind: HTTPRouteGroup, name: public }]
  sources: [{ kind: ServiceAccount, name: teller, namespace: victim }]
`
const uuid = 'c0ffee00-0000-4000-8000-000000000001'

function instance(namespace: string, name: string, account: string, more: Partial<Instance['spec']> = {}): Instance {
  return {
    apiVersion: 'standalone.openservicemesh.io/v1alpha1',
    kind: 'WorkloadInstance',
    metadata: { name, namespace, labels: { app: namespace === 'aaa' ? 'mal' : 'bank' }, annotations: {} },
    spec: {
      uuid,
      workload: name,
      serviceAccountName: account,
      sidecarClass: 'envoy',
      mode: 'transparent',
      addresses: [namespace === 'aaa' ? '10.0.0.66' : '10.0.0.1'],
      ports: [{ name: 'http', port: 8080 }],
      ready: true,
      createdAt: '2026-01-01T00:00:00Z',
      ...more,
    },
    origin: { kind: 'file', file: 'runtime.yaml', line: 1, column: 1 },
  }
}

function mesh(...instances: readonly Instance[]): MeshFixture {
  const fixture = new MeshFixture()
  fixture.apply([...objectsOf(text, 'mesh.yaml'), ...instances])
  return fixture
}

const bank = instance('victim', 'bank-0', 'bank')
const policyOf = (fixture: MeshFixture, of: Instance) => fixture.catalog.policyDocument(proxyKeyOfInstance(of))
const claimsOf = (fixture: MeshFixture) =>
  fixture.catalog
    .problems()
    .filter(({ code }) => code.startsWith('OSM_POLICY_PROXY'))
    .map(({ code, object, message }) => ({ code, name: `${object?.namespace}/${object?.name}`, message }))

describe('an instance that carries the uuid of the proxy of another namespace', () => {
  const spoof = instance('aaa', 'spoof', 'mallory', {
    createdAt: '2026-01-02T00:00:00Z',
    // Where a sidecar of explicit mode would listen, and what it would answer, if this were its instance.
    addresses: ['10.0.0.1'],
    probeBindings: [],
  })

  it('changes nothing of the policy of that proxy, whether it comes before or after it', () => {
    const alone = canonicalJson(policyOf(mesh(bank), bank))
    const fixture = mesh(spoof, bank)
    expect(canonicalJson(policyOf(fixture, bank))).toBe(alone)
    expect(policyOf(fixture, bank)?.proxy.identity).toBe('bank.victim')
    const later = mesh(bank)
    expect(later.apply([spoof]).map(({ proxy }) => proxy)).toEqual([proxyKeyOfInstance(spoof)])
    expect(canonicalJson(policyOf(later, bank))).toBe(alone)
    // With it goes its own proxy, and no other.
    expect(later.apply([], [objectKey(spoof)]).map(({ proxy }) => proxy)).toEqual([proxyKeyOfInstance(spoof)])
    expect(canonicalJson(policyOf(later, bank))).toBe(alone)
  })

  it('is told so where it is the younger one, without a word about the other namespace', () => {
    const [claim, ...more] = claimsOf(mesh(spoof, bank))
    expect(more).toEqual([])
    expect(claim).toMatchObject({ code: 'OSM_POLICY_PROXY_UUID', name: 'aaa/spoof' })
    expect(claim?.message).not.toMatch(/victim|bank/)
  })

  it('leaves the problems of the other namespace as they are where no one can tell which is the older one', () => {
    expect(claimsOf(mesh({ ...spoof, spec: { ...spoof.spec, createdAt: bank.spec.createdAt } }, bank))).toEqual([])
  })

  it('leads no client of its own to an account of the other namespace', () => {
    const { catalog } = mesh(spoof, bank)
    const commonName = `${uuid}.sidecar.bank.victim.cluster.local`
    expect(catalog.getServicesFromProxyCertificate(commonName)).toEqual([{ namespace: 'victim', name: 'bank' }])
    expect(catalog.getServicesFromProxyCertificate(`${uuid}.sidecar.mallory.aaa.cluster.local`)).toEqual([
      { namespace: 'aaa', name: 'mal' },
    ])
    expect(() => catalog.getServicesFromProxyCertificate(`${uuid}.sidecar.bank.aaa.cluster.local`)).toThrow(
      expect.objectContaining({ code: 'OSM_PROXY_UNKNOWN' }),
    )
  })
})

describe('instances with one whole identity', () => {
  const copy = instance('victim', 'a-copy', 'bank', { createdAt: '2026-01-03T00:00:00Z', addresses: ['10.0.0.2'] })

  it('are both reported, and the oldest has the proxy', () => {
    const fixture = mesh(copy, bank)
    expect(policyOf(fixture, bank)?.proxy.workload.instance).toBe('bank-0')
    expect(claimsOf(fixture)).toEqual([
      expect.objectContaining({
        code: 'OSM_POLICY_PROXY_DUPLICATE',
        name: 'victim/a-copy',
        message: expect.stringContaining('bank-0 has the proxy and this one has none'),
      }),
      expect.objectContaining({ code: 'OSM_POLICY_PROXY_DUPLICATE', name: 'victim/bank-0' }),
    ])
    expect(fixture.catalog.listProxies()).toHaveLength(1)
  })

  it('hand the proxy on when the oldest goes', () => {
    const fixture = mesh(copy, bank)
    fixture.apply([], [objectKey(bank)])
    expect(policyOf(fixture, bank)?.proxy.workload.instance).toBe('a-copy')
    expect(claimsOf(fixture)).toEqual([])
  })

  it('of equal age go by name', () => {
    const twin = { ...copy, spec: { ...copy.spec, createdAt: bank.spec.createdAt } }
    expect(policyOf(mesh(bank, twin), bank)?.proxy.workload.instance).toBe('a-copy')
  })

  it('of another account of the namespace have proxies of their own', () => {
    const other = instance('victim', 'b-copy', 'teller', { createdAt: '2026-01-03T00:00:00Z' })
    const fixture = mesh(other, bank)
    expect(policyOf(fixture, bank)?.proxy.identity).toBe('bank.victim')
    expect(policyOf(fixture, other)?.proxy.identity).toBe('teller.victim')
    expect(claimsOf(fixture)).toMatchObject([{ code: 'OSM_POLICY_PROXY_UUID', name: 'victim/b-copy' }])
  })
})

describe('an instance with a certificate of a Workload API', () => {
  const credentialOf = (fixture: MeshFixture, of: Instance) => {
    const document = policyOf(fixture, of)
    const trust = document?.parts[document.proxy.trust]
    return trust?.kind === 'trust' ? [trust.serviceCredential, trust.roots] : undefined
  }

  it('is told so by its policy, and trusts the same roots as all others', () => {
    const spire = instance('aaa', 'spire', 'mallory', {
      uuid: 'c0ffee00-0000-4000-8000-000000000002',
      serviceCredential: 'workload-api',
    })
    const fixture = mesh(bank, spire)
    const [credential, roots] = credentialOf(fixture, spire) ?? []
    expect(credential).toEqual({ kind: 'workload-api' })
    expect(credentialOf(fixture, bank)).toEqual([undefined, roots])
  })
})
