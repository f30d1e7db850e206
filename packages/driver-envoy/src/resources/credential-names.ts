import type { SecretCredentialRef } from '@osm-ts/driver-api/toolkit'

/** SDS name of a client certificate of a Secret. */
export function egressCertSecret({ namespace, name }: SecretCredentialRef): string {
  return `egress-cert|${namespace}/${name}`
}

/** SDS name of the roots that come with it. */
export function egressRootsSecret({ namespace, name }: SecretCredentialRef): string {
  return `egress-root-cert|${namespace}/${name}`
}
