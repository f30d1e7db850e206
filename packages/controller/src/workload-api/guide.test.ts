import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import { certificateNames, parseMeshDomains } from '@osm-ts/core'

const guide = readFileSync(new URL('../../../../docs/guides/certificates.md', import.meta.url), 'utf8')
const [, section = ''] = /^## SPIRE$(.*?)^## /ms.exec(guide) ?? []

/** What the mesh itself would put into the certificate of the service account `store` of the namespace `shop`. */
const names = certificateNames(
  {
    kind: 'service',
    serviceAccount: { namespace: 'shop', name: 'store' },
    services: [{ namespace: 'shop', name: 'store' }],
  },
  parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
)

/** A template of the controller manager of SPIRE, for that pod. */
function render(template: string): string {
  return template
    .replaceAll('{{ .TrustDomain }}', 'cluster.local')
    .replaceAll('{{ .PodSpec.ServiceAccountName }}', 'store')
    .replaceAll('{{ .PodMeta.Namespace }}', 'shop')
}

describe('the section about SPIRE of docs/guides/certificates.md', () => {
  it('registers the identity and the names that the mesh would certify', () => {
    const [, command = ''] = /(-spiffeID spiffe:\/\/cluster\.local\/store\/shop[^`]*)/.exec(section) ?? []
    const [, id] = /-spiffeID (\S+)/.exec(command) ?? []
    const dnsNames = [...command.matchAll(/-dns (\S+)/g)].map(([, name]) => name)
    expect(names.uris).toEqual([id])
    expect(dnsNames[0]).toBe(names.commonName)
    expect(names.dnsNames).toEqual(expect.arrayContaining(dnsNames))
    expect(dnsNames).toContain('store.shop.svc.cluster.local')
  })

  it('has a template for the controller manager that gives the same', () => {
    const [, id = ''] = /spiffeIDTemplate: '([^']+)'/.exec(section) ?? []
    const [, principal = ''] = /dnsNameTemplates:\n\s+- '([^']+)'/.exec(section) ?? []
    expect(names.uris).toEqual([render(id)])
    expect(render(principal)).toBe(names.commonName)
  })
})
