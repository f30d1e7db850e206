import { testAuthority } from '@osm-ts/driver-testkit'

/** A Secret with a certificate of a root that is unknown, for applications that speak TLS themselves. */
export function tlsSecret(namespace: string, name: string, dnsName: string): object {
  const { chain, privateKey } = testAuthority('applications').issue(dnsName, { dns: [dnsName] })
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { namespace, name },
    stringData: { 'tls.crt': chain, 'tls.key': privateKey },
  }
}
