import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'

import { DASHBOARD_CERTIFICATE_PATH, PAGES_SERVER_NAME, pemCertificates } from '@osm-ts/core'
import { isRecord } from '@osm-ts/driver-api/toolkit'
import { type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'

import { cliError } from '../../errors.js'
import { mergedDebugApi, noController } from '../../kubernetes/cluster-debug.js'
import { podsOfProgram } from '../../kubernetes/control-planes.js'
import { debugApiBy, type DebugApi } from '../../state/debug-api.js'
import { type HttpAnswer, httpsAsk } from '../../state/http-get.js'

/** How controllers are found and asked. */
export interface ControllerPagesOptions {
  readonly api: KubernetesApi
  readonly osmNamespace: string
  readonly trustDomain: string
  /** Port of the controllers. */
  readonly port: number
  /** Name of the ValidatingWebhookConfiguration of the mesh, whose CA bundle is the roots of the control plane. */
  readonly webhookConfig: string
  /** File with the token of the own service account for the controllers, which the kubelet replaces. */
  readonly tokenFile: string
  /** Milliseconds that never run backwards. */
  readonly monotonic: () => number
  readonly signal: AbortSignal
}

/** The roots are read again after this time. */
const ROOTS_MS = 30_000

/** What controllers tell the page, over TLS and by the token of its service account. */
export class ControllerPages {
  readonly #options: ControllerPagesOptions
  #roots: { readonly pem: readonly string[]; readonly readAt: number } | undefined

  constructor(options: ControllerPagesOptions) {
    this.#options = options
  }

  /**
   * All controllers that are ready, as one. A proxy is connected to one of them.
   *
   * @throws OsmError `OSM_CLI_MESH_MISSING` if there is none
   */
  async open(): Promise<DebugApi> {
    const [first, ...others] = (await this.#addresses()).map((address) =>
      debugApiBy(`port ${this.#options.port} of ${address}`, (path) => this.#ask(address, path)),
    )
    if (first === undefined) throw noController(this.#options.osmNamespace, 'is ready')
    return mergedDebugApi([first, ...others])
  }

  /**
   * Has a certificate signed for the key of a request.
   *
   * @throws OsmError `OSM_CLI_MESH_MISSING` or `OSM_CLI_DASHBOARD_CERTIFICATE`
   */
  async sign(csr: string): Promise<string> {
    const [address] = await this.#addresses()
    if (address === undefined) throw noController(this.#options.osmNamespace, 'is ready')
    const { status, body } = await this.#ask(address, DASHBOARD_CERTIFICATE_PATH, JSON.stringify({ csr }))
    const answer: unknown = status === 200 ? JSON.parse(body) : undefined
    if (isRecord(answer) && typeof answer['chain'] === 'string') return answer['chain']
    throw cliError(
      'OSM_CLI_DASHBOARD_CERTIFICATE',
      `the controller at ${address} did not sign a certificate of the page: status ${status}: ${body.slice(0, 200)}`,
      'check the log of the controller, and that osm.dashboard.enable is set for both',
    )
  }

  /**
   * Roots of the control plane.
   *
   * @throws OsmError `OSM_CLI_DASHBOARD_CERTIFICATE` if the cluster does not tell them
   */
  async roots(): Promise<readonly string[]> {
    const { api, webhookConfig, monotonic, signal } = this.#options
    if (this.#roots !== undefined && monotonic() - this.#roots.readAt < ROOTS_MS) return this.#roots.pem
    const found = await api.get(
      resourceTypes.ValidatingWebhookConfiguration,
      { namespace: '', name: webhookConfig },
      signal,
    )
    const pem = rootsOf(found)
    if (pem.length === 0)
      throw cliError(
        'OSM_CLI_DASHBOARD_CERTIFICATE',
        `ValidatingWebhookConfiguration ${webhookConfig} does not tell the roots of the control plane`,
        'wait until osm-bootstrap has written it',
      )
    this.#roots = { pem, readAt: monotonic() }
    return pem
  }

  async #addresses(): Promise<readonly string[]> {
    const { api, osmNamespace, signal } = this.#options
    const pods = await podsOfProgram({ api, signal }, osmNamespace, 'osm-controller')
    return pods.flatMap(({ ready, address }) => (ready && address !== undefined ? [address] : []))
  }

  async #ask(address: string, path: string, body?: string): Promise<HttpAnswer> {
    const { port, trustDomain, tokenFile, signal } = this.#options
    const [roots, token] = await Promise.all([this.roots(), readFile(tokenFile, 'utf8')])
    return httpsAsk({
      url: new URL(path, `https://${isIPv6(address) ? `[${address}]` : address}:${port}`),
      roots,
      serverName: `${PAGES_SERVER_NAME}.${trustDomain}`,
      headers: { authorization: `Bearer ${token.trim()}` },
      ...(body !== undefined && { body }),
      signal,
    })
  }
}

function rootsOf(configuration: unknown): readonly string[] {
  const webhooks = isRecord(configuration) ? configuration['webhooks'] : undefined
  const [first] = Array.isArray(webhooks) ? (webhooks as readonly unknown[]) : []
  const client = isRecord(first) ? first['clientConfig'] : undefined
  const bundle = isRecord(client) ? client['caBundle'] : undefined
  if (typeof bundle !== 'string') return []
  return pemCertificates(Buffer.from(bundle, 'base64').toString('utf8')).filter((pem) => new X509Certificate(pem).ca)
}
