import { type Enrolment, type MeshConfig, type Snapshot, wantedSecrets } from '@osm-ts/core'

import type { BoundRole } from './role-bindings.js'

/** Service accounts of the programs that use Secrets in namespaces of the mesh. */
export interface SecretAccounts {
  readonly controller: string
  readonly injector: string
}

/** What {@link secretRoles} look at. */
export interface SecretRolesOptions {
  readonly meshName: string
  readonly accounts: SecretAccounts
  readonly config: () => MeshConfig
  readonly snapshot: () => Snapshot | undefined
  readonly enrolment: Enrolment
  /** True: kubelets make the keys of sidecars, and no one writes Secrets with them. */
  readonly signsPodCertificates: boolean
}

/**
 * Roles for Secrets in namespaces of the mesh, each with the verbs of one task. RBAC can narrow neither the names of sidecars' Secrets, which are random, nor those
 * that users choose: so a role that reads or writes Secrets of users is bound only where an object requests it.
 */
export function secretRoles({
  meshName,
  accounts: { controller, injector },
  config,
  snapshot,
  enrolment,
  signsPodCertificates,
}: SecretRolesOptions): readonly BoundRole[] {
  const name = (task: string): string => `osm-${meshName}-${task}-secrets`
  return [
    // With no namespace, bindings that are there from before are removed.
    {
      name: name('bootstrap'),
      accounts: [injector],
      ...(signsPodCertificates && { namespaces: () => new Set<string>() }),
    },
    { name: name('owned'), accounts: [controller] },
    {
      name: name('egress'),
      accounts: [controller],
      namespaces: () => {
        const known = snapshot()
        const wanted = known === undefined ? [] : wantedSecrets(known, config(), enrolment)
        return new Set(wanted.map(({ namespace }) => namespace))
      },
    },
    {
      name: name('certificate'),
      accounts: [controller],
      namespaces: () => {
        const { certificate, featureFlags } = config()
        const gateway = certificate.ingressGateway?.secret.namespace
        const certs = featureFlags.enableAccessCertPolicy ? (snapshot()?.list('AccessCert') ?? []) : []
        return new Set([
          ...certs.map(({ metadata: { namespace } }) => namespace),
          ...(gateway === undefined ? [] : [gateway]),
        ])
      },
    },
  ]
}
