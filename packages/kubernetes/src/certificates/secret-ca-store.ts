import { OsmError } from '@osm-ts/driver-api'
import { type Authority, CaMaterial, type CaStore, type CertificateErrorCode } from '@osm-ts/core'

import type { KubernetesApi, KubernetesObject } from '../api.js'
import { isKubernetesError } from '../kubernetes-error.js'
import { resourceTypes } from '../resource-types.js'

/** What a {@link SecretCaStore} is made of. */
export interface SecretCaStoreOptions {
  readonly api: KubernetesApi
  /** Of the control plane. */
  readonly namespace: string
  /** `--ca-bundle-secret-name`: the Secret of the workloads' root. That of the control plane is named after it. */
  readonly secretName: string
  /** Of the Secrets, when they are made. */
  readonly labels: Readonly<Record<string, string>>
  /** Ends what is under way. */
  readonly signal: AbortSignal
  /** Absent: both. A program that needs only one is given the right to read only that one. */
  readonly authorities?: readonly Authority[]
}

/** Key of a Secret under which its certificates stand. */
export const CERTIFICATE_KEY = 'ca.crt'
const PRIVATE_KEY = 'private.key'
const CONTROL_PLANE_SUFFIX = '-control-plane'

/** Name of the Secret that holds the root of an authority. */
export function caSecretName(secretName: string, authority: Authority): string {
  return authority === 'workload' ? secretName : `${secretName}${CONTROL_PLANE_SUFFIX}`
}

/**
 * Roots in Secrets of the control plane's namespace, shared by all its programs and replicas.
 *
 * A Secret is made with both keys at once or not at all, and the API server makes one of a name only once: of two
 * programs that start together one makes the root, and the other reads it.
 */
export class SecretCaStore implements CaStore {
  readonly #options: SecretCaStoreOptions

  constructor(options: SecretCaStoreOptions) {
    this.#options = options
  }

  async load(authority: Authority): Promise<CaMaterial | undefined> {
    const { api, namespace, signal } = this.#options
    const name = this.#nameOf(authority)
    try {
      const secret = await api.get(resourceTypes.Secret, { namespace, name }, signal)
      return secret === undefined ? undefined : readMaterial(secret, `${namespace}/${name}`)
    } catch (error) {
      throw storeError(error, `${namespace}/${name}`, 'read')
    }
  }

  async create(authority: Authority, certificate: string, privateKey: string): Promise<CaMaterial> {
    const { api, namespace, labels, signal } = this.#options
    const name = this.#nameOf(authority)
    const manifest = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name, labels },
      type: 'Opaque',
      // No one writes into it by mistake; who wants another root deletes it.
      immutable: true,
      data: { [CERTIFICATE_KEY]: base64(certificate), [PRIVATE_KEY]: base64(privateKey) },
    }
    try {
      await api.create(resourceTypes.Secret, manifest, { signal })
    } catch (error) {
      if (!isKubernetesError(error) || !error.conflict) throw storeError(error, `${namespace}/${name}`, 'created')
    }
    // Read in any case: what counts is what is stored.
    const stored = await this.load(authority)
    if (stored !== undefined) return stored
    const message = `Secret ${namespace}/${name} was deleted while the root was stored`
    throw new OsmError<CertificateErrorCode>('OSM_CERT_STORE_IO', message)
  }

  #nameOf(authority: Authority): string {
    const { secretName, authorities } = this.#options
    if (authorities?.includes(authority) ?? true) return caSecretName(secretName, authority)
    const message = `the root of the ${authority} authority is not opened by this program`
    throw new OsmError<CertificateErrorCode>('OSM_CERT_STORE_IO', message)
  }
}

function readMaterial(secret: KubernetesObject, name: string): CaMaterial {
  const data = (secret.data ?? {}) as Readonly<Record<string, unknown>> // values are checked below
  return new CaMaterial(readKey(data, CERTIFICATE_KEY, name), readKey(data, PRIVATE_KEY, name), {
    certificate: `Secret ${name}, key ${CERTIFICATE_KEY}`,
    privateKey: `Secret ${name}, key ${PRIVATE_KEY}`,
  })
}

function readKey(data: Readonly<Record<string, unknown>>, key: string, name: string): string {
  const value = data[key]
  if (typeof value === 'string' && value !== '') return Buffer.from(value, 'base64').toString('utf8')
  const message = `Secret ${name} has no key ${key}; restore it, or delete the Secret to start over with a new root`
  throw new OsmError<CertificateErrorCode>('OSM_CERT_STORE_CORRUPT', message)
}

/** An error of the store; others pass through. */
function storeError(error: unknown, name: string, verb: string): unknown {
  if (!isKubernetesError(error)) return error
  const message = `Secret ${name} cannot be ${verb}: ${error.message}`
  return new OsmError<CertificateErrorCode>('OSM_CERT_STORE_IO', message, { cause: error })
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
