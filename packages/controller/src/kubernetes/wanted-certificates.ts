import type { MeshConfig, Snapshot } from '@osm-ts/core'

import type { WantedCertificate } from './outside-certificate.js'

/** What certificates for callers outside the mesh are asked for in. */
export interface CertificateRequests {
  readonly config: MeshConfig
  /** Namespace and name of the MeshConfig. */
  readonly configName: { readonly namespace: string; readonly name: string }
  readonly snapshot: Snapshot | undefined
  /** True if the objects of a namespace count. */
  readonly isEnrolled: (namespace: string) => boolean
}

/** Certificates that MeshConfig and AccessCerts ask for. Of two for one Secret the first by namespace and name has it, MeshConfig before all. */
export function wantedCertificates({
  config,
  configName,
  snapshot,
  isEnrolled,
}: CertificateRequests): readonly WantedCertificate[] {
  const { ingressGateway, serviceCertValidityMs } = config.certificate
  const gateway: readonly WantedCertificate[] =
    ingressGateway === undefined
      ? []
      : [
          {
            object: { kind: 'MeshConfig', ...configName },
            field: 'spec.certificate.ingressGateway',
            names: ingressGateway.subjectAltNames,
            validityMs: ingressGateway.validityMs,
            secret: ingressGateway.secret,
          },
        ]
  const certs = config.featureFlags.enableAccessCertPolicy ? (snapshot?.list('AccessCert') ?? []) : []
  const asked = certs
    .filter(({ metadata }) => isEnrolled(metadata.namespace))
    .map(({ metadata: { namespace, name }, spec }) => ({
      object: { kind: 'AccessCert', namespace, name },
      field: 'spec',
      names: spec.subjectAltNames,
      validityMs: serviceCertValidityMs,
      secret: spec.secret,
    }))
  return [...gateway, ...asked]
}
