import type { Informer } from '../informer-types.js'
import { createInformer, type InformerDependencies } from '../informer.js'
import { resourceTypes } from '../resource-types.js'
import type { Authority } from '@osm-ts/core'
import { CERTIFICATE_KEY, caSecretName } from './secret-ca-store.js'

/** Which Secret of roots. */
export interface CaSecret {
  readonly namespace: string
  /** Name of the Secret of the workloads' root. */
  readonly secretName: string
  readonly authority: Authority
}

/** Follows the certificates in the Secret of a root, PEM; empty where it has none. The key is not kept. */
export function caCertificateInformer(
  { namespace, secretName, authority }: CaSecret,
  { api, clock, random, logger, metrics }: InformerDependencies,
): Informer<string> {
  return createInformer<string>({
    api,
    clock,
    random,
    logger,
    ...(metrics === undefined ? {} : { metrics }),
    type: resourceTypes.Secret,
    namespace,
    fieldSelector: `metadata.name=${caSecretName(secretName, authority)}`,
    project: ({ data }) => {
      const value = (data as Readonly<Record<string, string>> | undefined)?.[CERTIFICATE_KEY] ?? '' // what a Secret's data is
      return Buffer.from(value, 'base64').toString('utf8')
    },
  })
}
