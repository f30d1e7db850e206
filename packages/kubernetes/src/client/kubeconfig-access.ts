import type { RequestOptions } from 'node:https'

import type { KubeConfig } from '@kubernetes/client-node'

import { KubernetesError, systemCode } from '../kubernetes-error.js'
import type { ClusterAccess, ClusterCredentials, ClusterTls } from './cluster-access.js'

/** Where kubectl's usual places lead if there is nothing in any of them. */
const NOWHERE = 'http://localhost:8080'

/** Which kubeconfig, and what of it. */
export interface KubeconfigChoice {
  /** A file. Absent: where kubectl looks for one, the service account of the pod at last. */
  readonly path?: string | undefined
  /** Absent: the current context of the file. */
  readonly context?: string | undefined
}

/**
 * Access by a kubeconfig.
 *
 * The library that reads it knows all ways to authenticate, and costs 25 MB of heap: it is loaded here and nowhere else.
 */
export class KubeconfigAccess implements ClusterAccess {
  readonly server: string
  readonly #choice: KubeconfigChoice
  #config: KubeConfig

  private constructor(choice: KubeconfigChoice, config: KubeConfig, server: string) {
    this.server = server
    this.#choice = choice
    this.#config = config
  }

  /** @throws KubernetesError with code `OSM_KUBERNETES_CONFIG` */
  static async open(choice: KubeconfigChoice): Promise<KubeconfigAccess> {
    const config = await load(choice)
    return new KubeconfigAccess(choice, config, serverOf(config, choice.path))
  }

  async credentials(rejected: boolean): Promise<ClusterCredentials> {
    // A new object forgets the tokens that the old one has cached.
    if (rejected) this.#config = await load(this.#choice)
    const options: RequestOptions = {}
    try {
      await this.#config.applyToHTTPSOptions(options)
    } catch (error) {
      const code = systemCode(error)
      // The message of an authentication plugin is its own output, which no one vouches for.
      const named = this.#choice.path ?? 'the kubeconfig'
      const message = `the credentials of ${named} cannot be obtained: a file is missing, or the authentication plugin failed`
      throw new KubernetesError('OSM_KUBERNETES_CREDENTIALS', message, {
        ...(code === undefined ? {} : { reason: code }),
      })
    }
    return { headers: headersOf(options), tls: tlsOf(options) }
  }
}

async function load({ path, context }: KubeconfigChoice): Promise<KubeConfig> {
  const { KubeConfig } = await import('./kube-config-library.js')
  const config = new KubeConfig()
  try {
    if (path === undefined) config.loadFromDefault()
    else config.loadFromFile(path)
  } catch (error) {
    const reason = systemCode(error) ?? 'it is not a kubeconfig'
    const message = `${path ?? 'the kubeconfig'} cannot be loaded: ${reason}` // the parser's message quotes the file
    throw new KubernetesError('OSM_KUBERNETES_CONFIG', message)
  }
  if (context === undefined) return config
  const names = config.getContexts().map(({ name }) => name)
  if (!names.includes(context)) {
    const message = `${path ?? 'the kubeconfig'} has no context ${context}; it has ${names.join(', ') || 'none'}`
    throw new KubernetesError('OSM_KUBERNETES_CONFIG', message)
  }
  config.setCurrentContext(context)
  return config
}

function serverOf(config: KubeConfig, path: string | undefined): string {
  const server = config.getCurrentCluster()?.server
  if (server === undefined) {
    const named = path ?? 'the kubeconfig'
    throw new KubernetesError('OSM_KUBERNETES_CONFIG', `${named} has no current context that names a cluster`)
  }
  if (path === undefined && server === NOWHERE) {
    const message = 'no kubeconfig found: give --kubeconfig, set KUBECONFIG, write ~/.kube/config, or run in a pod'
    throw new KubernetesError('OSM_KUBERNETES_CONFIG', message)
  }
  if (server.startsWith('http:') && config.getCurrentCluster()?.skipTLSVerify !== true) {
    const message = `${path ?? 'the kubeconfig'} names ${server}: set insecure-skip-tls-verify to send requests without TLS`
    throw new KubernetesError('OSM_KUBERNETES_CONFIG', message)
  }
  return server
}

function headersOf({ headers, auth }: RequestOptions): Readonly<Record<string, string>> {
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)])
  const basic = typeof auth === 'string' ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {}
  return { ...basic, ...(Object.fromEntries(given) as Record<string, string>) }
}

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): ClusterTls {
  return {
    ...(isText(ca) ? { ca } : {}),
    ...(isText(cert) ? { cert } : {}),
    ...(isText(key) ? { key } : {}),
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  }
}

function isText(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value)
}
