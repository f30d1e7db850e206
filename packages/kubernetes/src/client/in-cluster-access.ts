import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { KubernetesError } from '../kubernetes-error.js'
import type { ClusterAccess, ClusterCredentials } from './cluster-access.js'

/** Where the kubelet puts what a pod's service account needs. */
const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'
/** The kubelet rotates a token when four fifths of its life are over, so that a minute more is never too late. */
const REREAD_MS = 60_000

/** Variables of the environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Options of {@link InClusterAccess}. */
export interface InClusterOptions {
  readonly environment: Environment
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number
  /** Where the service account is mounted. */
  readonly folder?: string
}

/** True in a container of a pod. */
export function isInCluster(environment: Environment): boolean {
  return Boolean(environment.KUBERNETES_SERVICE_HOST) && Boolean(environment.KUBERNETES_SERVICE_PORT)
}

/** Access by the service account of a pod. Its token and the CA of the cluster rotate in their files. */
export class InClusterAccess implements ClusterAccess {
  readonly server: string
  readonly #folder: string
  readonly #monotonic: () => number
  #last: { readonly credentials: ClusterCredentials; readonly at: number } | undefined

  constructor({ environment, monotonic, folder = SERVICE_ACCOUNT_FOLDER }: InClusterOptions) {
    const host = environment.KUBERNETES_SERVICE_HOST ?? ''
    this.server = `https://${isIPv6(host) ? `[${host}]` : host}:${environment.KUBERNETES_SERVICE_PORT ?? ''}`
    this.#folder = folder
    this.#monotonic = monotonic
  }

  async credentials(rejected: boolean): Promise<ClusterCredentials> {
    const now = this.#monotonic()
    if (!rejected && this.#last !== undefined && now - this.#last.at < REREAD_MS) return this.#last.credentials
    const [token, ca] = await Promise.all([this.#read('token'), this.#read('ca.crt')])
    const credentials = { headers: { authorization: `Bearer ${token.trim()}` }, tls: { ca } }
    this.#last = { credentials, at: now }
    return credentials
  }

  async #read(file: string): Promise<string> {
    const path = join(this.#folder, file)
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      throw new KubernetesError('OSM_KUBERNETES_CREDENTIALS', `${path} cannot be read: ${errorMessage(error)}`, {
        cause: error,
      })
    }
  }
}
