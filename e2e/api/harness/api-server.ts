import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { connectKubernetes, type KubernetesApi } from '@osm-ts/kubernetes'
import { readAuditEvents, type AuditEvent } from './audit-log.js'
import { writeKubeconfig } from './kubeconfig.js'

/** Where an API server is and what it takes to use it: plain data, so that another process can be told. */
export interface ApiServerDescription {
  readonly url: string
  /** Address of this host on which it listens. */
  readonly address: string
  /** Addresses of services: no one has them, and nothing sent there leaves this machine. */
  readonly serviceRange: string
  readonly caPem: string
  /** PEM of the CA of the certificate that it shows to the webhooks of the namespace `known-system`. */
  readonly webhookClientCaPem: string
  /** Kubeconfig of the administrator. */
  readonly kubeconfigPath: string
  /** Folder for files of this run. */
  readonly folder: string
  readonly auditLog: string
}

/** A service account. */
export interface AccountName {
  readonly namespace: string
  readonly name: string
}

const tokenLifetimeSeconds = 7200

/** A running API server. */
export class ApiServer {
  readonly url: string
  readonly address: string
  readonly serviceRange: string
  readonly kubeconfigPath: string
  /** Speaks to it as its administrator. */
  readonly api: KubernetesApi
  readonly #description: ApiServerDescription

  private constructor(description: ApiServerDescription, api: KubernetesApi) {
    this.url = description.url
    this.address = description.address
    this.serviceRange = description.serviceRange
    this.kubeconfigPath = description.kubeconfigPath
    this.api = api
    this.#description = description
  }

  static async connect(description: ApiServerDescription): Promise<ApiServer> {
    const api = await connectKubernetes({ kubeconfig: description.kubeconfigPath, userAgent: 'osm-ts-api-tests' })
    return new ApiServer(description, api)
  }

  /** PEM of the root that its certificate comes from. */
  get caPem(): string {
    return this.#description.caPem
  }

  /** PEM of the root of the certificate that it shows to the webhooks of the namespace `known-system`, and to no others. */
  get webhookClientCaPem(): string {
    return this.#description.webhookClientCaPem
  }

  /** A folder for files that last as long as the API server. */
  get folder(): string {
    return this.#description.folder
  }

  /**
   * Path of a new kubeconfig with a token that the API server signed for an existing service account.
   */
  async kubeconfigFor(account: AccountName): Promise<string> {
    const path = join(this.folder, `${account.namespace}.${account.name}.${randomBytes(4).toString('hex')}.kubeconfig`)
    const { caPem } = this.#description
    const token = await this.tokenFor(account)
    return writeKubeconfig(path, { url: this.url, caPem, token, namespace: account.namespace })
  }

  /**
   * A bearer token that the API server signed for an existing service account.
   *
   * @param audience - whom it is for; absent: the API server
   */
  async tokenFor({ namespace, name }: AccountName, audience?: string): Promise<string> {
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: tokenLifetimeSeconds, ...(audience !== undefined && { audiences: [audience] }) },
    }
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
    const answer = (await this.api.post(path, request, AbortSignal.timeout(10_000))) as {
      readonly status: { readonly token: string }
    }
    return answer.status.token
  }

  /** What was asked of it since its first start, as far as it satisfies. */
  async auditEvents(select: (event: AuditEvent) => boolean = () => true): Promise<readonly AuditEvent[]> {
    return readAuditEvents(this.#description.auditLog, select)
  }
}
