import { parseProxyUUID } from '@osm-ts/core'
import {
  bootstrapSecretName,
  isKubernetesError,
  type KubernetesApi,
  type KubernetesManifest,
  resourceTypes,
} from '@osm-ts/kubernetes'
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

  /**
   * See `InjectionPorts.reusableUuid`. A pod counts as a copy, which is safe, if its Secret cannot be read.
   *
   * The Secret is read by a patch that changes nothing. RBAC cannot limit `get` to Secrets of sidecars; an admission policy limits patches.
   */
  async reusableUuid(
    namespace: string,
    uuid: string,
    digest: string,
    signal: AbortSignal,
  ): Promise<ProxyUUID | undefined> {
    try {
      const parsed = parseProxyUUID(uuid)
      const name = bootstrapSecretName(parsed)
      const options = { signal, answer: 'metadata' } as const
      const { metadata } = await this.#api.mergePatch(resourceTypes.Secret, { namespace, name }, {}, options)
      const isOwned = (metadata.ownerReferences ?? []).length > 0
      return !isOwned && metadata.annotations?.[admissionAnnotation] === digest ? parsed : undefined
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
