import { isDnsDomain } from '../../identity/index.js'
import type { KindMap } from '../objects.js'
import { fault, findings, type CheckContext, type Finding } from './check.js'

/** AccessCerts for names that a client outside the mesh must not have. */
export function checkAccessCert({ spec }: KindMap['AccessCert'], context: CheckContext): readonly Finding[] {
  return spec.subjectAltNames.flatMap((name, index) =>
    findings(foreignName(name, `spec.subjectAltNames[${index}]`, context)),
  )
}

/** Ingress gateway certificates for names that a client outside the mesh must not have. */
export function checkGatewayCertificate({ spec }: KindMap['MeshConfig'], context: CheckContext): readonly Finding[] {
  const names = spec.certificate?.ingressGateway?.subjectAltNames ?? []
  return names.flatMap((name, index) =>
    findings(foreignName(name, `spec.certificate.ingressGateway.subjectAltNames[${index}]`, context)),
  )
}

/** A name that would let its bearer pass for a service or workload of the mesh. */
function foreignName(name: string, field: string, { clusterDomain, trustDomain }: CheckContext): Finding | undefined {
  const lower = name.toLowerCase().replace(/\.$/, '')
  if (lower.includes('*')) return fault('OSM_SPEC_CERT_NAME', field, 'must not hold a wildcard')
  if (!isDnsDomain(lower)) return fault('OSM_SPEC_HOST', field, `${JSON.stringify(name)} is no host name`)
  const domain = [trustDomain, clusterDomain].find((it) => lower === it || lower.endsWith(`.${it}`))
  return domain === undefined
    ? undefined
    : fault(
        'OSM_SPEC_CERT_NAME',
        field,
        `lies under ${domain}, where names of services and workloads of the mesh are; choose another`,
      )
}

/** MeshRootCertificates that do not say who issues. */
export function checkMeshRootCertificate({ spec }: KindMap['MeshRootCertificate']): readonly Finding[] {
  const given = Object.keys(spec.provider)
  return findings(
    given.length !== 1 &&
      fault(
        'OSM_SPEC_PROVIDER',
        'spec.provider',
        `must have exactly one of tresor, vault and certManager, not ${given.join(' and ') || 'none'}`,
      ),
  )
}
