import type { Branded, ProxyRef, ProxyUUID } from '@osm-ts/driver-api'

import type { ProxyIdentity } from './proxy-identity.js'

/**
 * The whole identity of a proxy as one text, `<uuid>/<namespace>/<service account>`. Everything that is kept per proxy is keyed by it. A uuid alone is no
 * key: it is the value of a label, which the owner of any namespace can write.
 */
export type ProxyKey = Branded<string, 'ProxyKey'>

/** The key of a proxy. Keys sort by uuid first. */
export function proxyKey({ uuid, serviceAccount: { namespace, name } }: ProxyIdentity): ProxyKey {
  // Uuids have one length and namespaces no slash, so that no two identities have one text.
  return `${uuid}/${namespace}/${name}` as ProxyKey
}

/** The proxy behind a key. */
export function identityOfProxyKey(proxy: ProxyKey): ProxyIdentity {
  const [uuid = '', namespace = '', name = ''] = proxy.split('/')
  return { uuid: uuid as ProxyUUID, serviceAccount: { namespace, name } } // keys are made of identities alone
}

/** The key of a proxy, from members that a {@link ProxyRef} has. */
export function proxyKeyOfRef({
  uuid,
  identity,
  namespace,
}: Pick<ProxyRef, 'uuid' | 'identity' | 'namespace'>): ProxyKey {
  return proxyKey({ uuid, serviceAccount: { namespace, name: identity.slice(0, -namespace.length - 1) } })
}

/** The key of the proxy beside an instance of a workload. */
export function proxyKeyOfInstance({
  metadata: { namespace },
  spec: { uuid, serviceAccountName },
}: {
  readonly metadata: { readonly namespace: string }
  readonly spec: { readonly uuid: string; readonly serviceAccountName: string }
}): ProxyKey {
  // The schema of the kind demands the form of the uuid.
  return proxyKey({ uuid: uuid as ProxyUUID, serviceAccount: { namespace, name: serviceAccountName } })
}
