import { gatewayCertificateField, type KindMap, type MeshConfig, type Snapshot } from '@osm-ts/core'

import type { WantedCertificate } from './outside-certificate.js'

/** What certificates for callers outside the mesh are requested in. */
export interface CertificateRequests {
  readonly config: MeshConfig
  /** Namespace and name of the MeshConfig. */
  readonly configName: { readonly namespace: string; readonly name: string }
  readonly snapshot: Snapshot | undefined
  /** True if the objects of a namespace count. */
  readonly isEnrolled: (namespace: string) => boolean
  /** True if an object must get no certificate: the checks of the specification say why. */
  readonly isRefused: (asker: KindMap['AccessCert'] | KindMap['MeshConfig'], snapshot: Snapshot) => boolean
}

/** Certificates that MeshConfig and AccessCerts ask for. Of two for one Secret the first by namespace and name has it, MeshConfig before all. */
export function wantedCertificates({
  config,
  configName,
  snapshot,
  isEnrolled,
  isRefused,
}: CertificateRequests): readonly WantedCertificate[] {
  const { ingressGateway, serviceCertValidityMs } = config.certificate
  const meshConfig = snapshot?.get('MeshConfig', configName.namespace, configName.name)
  // What the MeshConfig requests may have become the name of a workload: nothing is issued without having looked.
  const isGatewayRefused = snapshot === undefined || meshConfig === undefined || isRefused(meshConfig, snapshot)
  const gateway: readonly WantedCertificate[] =
    ingressGateway === undefined || isGatewayRefused
      ? []
      : [
          {
            object: { kind: 'MeshConfig', ...configName },
            field: gatewayCertificateField,
            names: ingressGateway.subjectAltNames,
            validityMs: ingressGateway.validityMs,
            secret: ingressGateway.secret,
          },
        ]
  const certs =
    snapshot !== undefined && config.featureFlags.enableAccessCertPolicy
      ? snapshot.list('AccessCert').filter((cert) => !isRefused(cert, snapshot))
      : []
  const asked = certs
    .filter(({ metadata: { namespace } }) => namespace === configName.namespace || isEnrolled(namespace))
    .map(({ metadata: { namespace, name }, spec }) => ({
      object: { kind: 'AccessCert', namespace, name },
      field: 'spec',
      names: spec.subjectAltNames,
      validityMs: serviceCertValidityMs,
      secret: spec.secret,
    }))
  return [...gateway, ...asked]
}
