import { describe, expect, it } from '@jest/globals'
import { readObjects, resolveMeshConfig, SnapshotBuilder } from '@osm-ts/core'

import { secretRoles } from './secret-roles.js'

const namespace = (name: string, label: string): string => `apiVersion: v1
kind: Namespace
metadata: { name: ${name}, labels: { openservicemesh.io/monitored-by: ${label} } }
---
`
const egress = (where: string, secretNamespace = where): string => `apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: pay, namespace: ${where} }
spec:
  sources:
    - kind: ServiceAccount
      name: buyer
      namespace: ${where}
      mtls:
        issuer: other
        cert: { sn: 1, expiration: '2030-01-01T00:00:00Z', subjectAltNames: [pay.example.com], secret: { name: c, namespace: ${secretNamespace} } }
  hosts: [pay.example.com]
  ports: [{ number: 443, protocol: https }]
---
`
const accessCert = (where: string): string => `apiVersion: policy.openservicemesh.io/v1alpha1
kind: AccessCert
metadata: { name: caller, namespace: ${where} }
spec: { subjectAltNames: [caller.example.com], secret: { name: caller, namespace: ${where} } }
---
`

/** Accounts and namespaces of each role, by its name. */
function rolesIn(
  text: string,
  spec: object,
  signsPodCertificates = false,
): Readonly<Record<string, readonly unknown[]>> {
  const { config } = resolveMeshConfig(
    spec,
    { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} },
    { object: undefined, locate: () => undefined },
  )
  const upserts = readObjects(text, { file: 'mesh.yaml' }).objects
  const { snapshot } = new SnapshotBuilder(['test']).apply([{ source: 'test', upserts, deletes: [] }])
  const roles = secretRoles({
    meshName: 'osm',
    accounts: { controller: 'osm-controller', injector: 'osm-injector' },
    config: () => config,
    snapshot: () => snapshot,
    enrolment: { mode: 'labelled', meshName: 'osm' },
    signsPodCertificates,
  })
  return Object.fromEntries(
    roles.map(({ name, accounts, namespaces }) => [
      name,
      [accounts.join(), namespaces === undefined ? 'all' : [...namespaces()].sort().join()],
    ]),
  )
}

const mesh =
  namespace('shop', 'osm') +
  namespace('bank', 'osm') +
  namespace('foreign', 'other') +
  egress('shop') +
  egress('bank', 'shop') +
  egress('foreign') +
  accessCert('bank')

describe('roles for Secrets of users', () => {
  it('are held only where an object requests its own namespace', () => {
    const spec = {
      featureFlags: { enableEgressPolicy: true, enableAccessCertPolicy: true },
      certificate: {
        ingressGateway: {
          subjectAltNames: ['gateway.example.com'],
          validityDuration: '1h',
          secret: { name: 'gateway', namespace: 'edge' },
        },
      },
    }
    expect(rolesIn(mesh, spec)).toEqual({
      'osm-osm-bootstrap-secrets': ['osm-injector', 'all'],
      'osm-osm-owned-secrets': ['osm-controller', 'all'],
      'osm-osm-egress-secrets': ['osm-controller', 'shop'],
      'osm-osm-certificate-secrets': ['osm-controller', 'bank,edge'],
    })
  })

  it('are held nowhere while the features are off', () => {
    const spec = { featureFlags: { enableEgressPolicy: false, enableAccessCertPolicy: false } }
    expect(rolesIn(mesh, spec)).toMatchObject({
      'osm-osm-egress-secrets': ['osm-controller', ''],
      'osm-osm-certificate-secrets': ['osm-controller', ''],
    })
  })

  it('are not held for Secrets of sidecars where kubelets make the keys', () => {
    expect(rolesIn(mesh, {}, true)).toMatchObject({
      'osm-osm-bootstrap-secrets': ['osm-injector', ''],
      'osm-osm-owned-secrets': ['osm-controller', 'all'],
    })
  })
})
