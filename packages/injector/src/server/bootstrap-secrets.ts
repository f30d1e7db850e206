import {
  bootstrapSecretName,
  isKubernetesError,
  parseProxyUUID,
  resourceTypes,
  type KubernetesApi,
  type KubernetesManifest,
} from '@osm-ts/core'
import { isOsmError, OsmError, type ProxyUUID } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'
import { admissionAnnotation } from '../sidecar/bootstrap-secret.js'
import type { SecretBudget } from './secret-budget.js'

/** Bootstrap Secrets at the API server. */
export class BootstrapSecrets {
  readonly #api: KubernetesApi
  readonly #meshName: string
  readonly #budget: Pick<SecretBudget, 'spend'>

  constructor(api: KubernetesApi, meshName: string, budget: Pick<SecretBudget, 'spend'>) {
    this.#api = api
    this.#meshName = meshName
    this.#budget = budget
  }

  /**
   * Writes the Secret of a sidecar.
   *
   * @param again - there is one, from when the same pod was looked at before; it is replaced
   * @throws OsmError `OSM_INJECT_RATE`, `OSM_INJECT_SECRET_FORBIDDEN` or `OSM_INJECT_SECRET`
   */
  async store(secret: KubernetesManifest, again: boolean, signal: AbortSignal): Promise<void> {
    if (!again) this.#budget.spend(secret.metadata.namespace ?? '')
    // The private key has no reason to travel back.
    const options = { signal, answer: 'metadata' } as const
    try {
      await (again
        ? this.#api.replace(resourceTypes.Secret, secret, options)
        : this.#api.create(resourceTypes.Secret, secret, options))
    } catch (error) {
      throw this.#failure(error, secret)
    }
  }

  /** See `InjectionPorts.reusableUuid`. Whoever can't tell takes the pod for a copy, which is safe. */
  async reusableUuid(
    namespace: string,
    uuid: string,
    digest: string,
    signal: AbortSignal,
  ): Promise<ProxyUUID | undefined> {
    try {
      const parsed = parseProxyUUID(uuid)
      const name = bootstrapSecretName(parsed)
      const secret = await this.#api.get(resourceTypes.Secret, { namespace, name }, signal)
      const isOwned = (secret?.metadata.ownerReferences ?? []).length > 0
      return !isOwned && secret?.metadata.annotations?.[admissionAnnotation] === digest ? parsed : undefined
    } catch (error) {
      if (isOsmError(error)) return undefined
      throw error
    }
  }

  #failure(error: unknown, { metadata: { namespace = '', name } }: KubernetesManifest): unknown {
    if (!isKubernetesError(error)) return error
    if (error.forbiddenBy === 'rbac') {
      return new OsmError<InjectorErrorCode>(
        'OSM_INJECT_SECRET_FORBIDDEN',
        `the injector may not write Secrets in namespace ${namespace}: RoleBinding osm-${this.#meshName}-bootstrap-secrets is missing there. ` +
          `The controller makes it within seconds after a namespace has joined the mesh; if it does not, see the log of osm-controller`,
        { cause: error },
      )
    }
    return new OsmError<InjectorErrorCode>(
      'OSM_INJECT_SECRET',
      `Secret ${namespace}/${name} of the sidecar was not stored: ${error.message}`,
      { cause: error },
    )
  }
}
