import { describe, expect, it } from '@jest/globals'
import { type MeshConfigSpec, readObjects, resolveMeshConfig, SnapshotBuilder } from '@osm-ts/core'

import { wantedCertificates } from './wanted-certificates.js'

const cert = (namespace: string, name: string): string => `apiVersion: policy.openservicemesh.io/v1alpha1
kind: AccessCert
metadata: { name: ${name}, namespace: ${namespace} }
spec: { subjectAltNames: [${name}.example.com], secret: { name: s-${name}, namespace: ${namespace} } }
---
`

const meshConfig = `apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshConfig
metadata: { name: osm-mesh-config, namespace: osm-system }
spec: {}
---
`
const ingressGateway = {
  subjectAltNames: ['ingress-nginx.ingress-nginx.cluster.local'],
  validityDuration: '24h',
  secret: { name: 'osm-nginx-client-cert', namespace: 'osm-system' },
}

interface Asked {
  readonly enabled?: boolean
  readonly certificate?: MeshConfigSpec['certificate']
  readonly refused?: readonly string[]
}

function wanted({ enabled = false, certificate = {}, refused = ['gateway'] }: Asked): readonly string[] {
  const spec = { featureFlags: { enableAccessCertPolicy: enabled }, certificate }
  const { config } = resolveMeshConfig(
    spec,
    { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} },
    { object: undefined, locate: () => undefined },
  )
  const text =
    meshConfig +
    cert('shop', 'caller') +
    cert('shop', 'gateway') +
    cert('other', 'caller') +
    cert('osm-system', 'audit')
  const upserts = readObjects(text, { file: 'mesh.yaml' }).objects
  const { snapshot } = new SnapshotBuilder(['test']).apply([{ source: 'test', upserts, deletes: [] }])
  return wantedCertificates({
    config,
    configName: { namespace: 'osm-system', name: 'osm-mesh-config' },
    snapshot,
    isEnrolled: (namespace) => namespace === 'shop',
    isRefused: ({ metadata: { name } }) => refused.includes(name),
  }).map(({ secret: { namespace, name } }) => `${namespace}/${name}`)
}

describe('certificates that AccessCerts ask for', () => {
  it('are those of namespaces of the mesh and of the control plane, except for refused names', () => {
    expect(wanted({ enabled: true })).toEqual(['osm-system/s-audit', 'shop/s-caller'])
  })

  it('are none while the feature is off', () => {
    expect(wanted({})).toEqual([])
  })
})

describe('the certificate of the ingress gateway', () => {
  it('is requested by the MeshConfig', () => {
    expect(wanted({ certificate: { ingressGateway } })).toEqual(['osm-system/osm-nginx-client-cert'])
  })

  it('is no longer requested once its name is refused, as when its namespace joins the mesh', () => {
    expect(wanted({ certificate: { ingressGateway }, refused: ['osm-mesh-config'] })).toEqual([])
  })
})
