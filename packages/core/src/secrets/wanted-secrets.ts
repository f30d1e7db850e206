import type { MeshConfig } from '../config/index.js'
import type { Snapshot } from '../snapshot/index.js'
import { isMonitored, type Enrolment } from '../spec/index.js'
import type { SecretName } from './secret-source.js'

/** Secrets that policies need: those that an Egress names in its own namespace. Anyone who may write an Egress gets at no Secret of others by it. */
export function wantedSecrets(
  snapshot: Snapshot,
  { featureFlags }: Pick<MeshConfig, 'featureFlags'>,
  enrolment: Enrolment,
): readonly SecretName[] {
  if (!featureFlags.enableEgressPolicy) return []
  return snapshot
    .list('Egress')
    .filter(({ metadata: { namespace } }) => isMonitored(snapshot, namespace, enrolment))
    .flatMap(({ metadata: { namespace }, spec: { sources } }) =>
      sources.flatMap(({ mtls }) => {
        const secret = mtls?.issuer === 'other' ? mtls.cert?.secret : undefined
        return secret?.namespace === namespace ? [{ namespace, name: secret.name }] : []
      }),
    )
}
