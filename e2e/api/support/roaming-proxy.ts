import { randomInt, X509Certificate } from 'node:crypto'
import { AdsClient } from './ads-client.js'
import { ROUTES } from '../../bench/references.js'

/** What the injector has put into the Secret of a sidecar, by the names of the files. */
export type SidecarFiles = (name: string) => string

/** As Envoy's: `retryBackOff` of its bootstrap. */
const firstBackOffMs = 500
const longestBackOffMs = 10_000

/** A proxy that acknowledges everything, is connected to any of the replicas of its control plane, and goes to another when that one is lost. */
export class RoamingProxy {
  readonly #files: SidecarFiles
  readonly #targets: () => Promise<readonly string[]>
  readonly #awaited = new Map<string, (at: bigint) => void>()
  readonly #routes = new Map<string, Buffer>()
  #client: AdsClient | undefined
  #retry: NodeJS.Timeout | undefined
  #reconnecting: Promise<void> = Promise.resolve()
  #target = ''
  #failures = 0
  #closed = false

  /**
   * @param first - `host:port` of the replica that it begins with
   * @param targets - those of all replicas that are ready; later it takes any of them, as a connection to their Service would
   */
  constructor(files: SidecarFiles, first: string, targets: () => Promise<readonly string[]>) {
    this.#files = files
    this.#targets = targets
    this.#connect(first)
  }

  /** The replica that it is connected to, or was last. */
  get target(): string {
    return this.#target
  }

  /** When it acknowledged a route of outbound requests that contains the text, on the monotonic clock in nanoseconds. */
  knows(text: string): Promise<bigint> {
    if ([...this.#routes.values()].some((routes) => routes.includes(text)))
      return Promise.resolve(process.hrtime.bigint())
    return new Promise((resolve) => {
      this.#awaited.set(text, resolve)
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    await this.#reconnecting
    this.#client?.close()
  }

  #connectLater(): void {
    const backOffMs = Math.min(longestBackOffMs, firstBackOffMs * 2 ** this.#failures++)
    this.#retry = setTimeout(() => {
      this.#reconnecting = this.#reconnect()
    }, randomInt(backOffMs))
  }

  async #reconnect(): Promise<void> {
    const targets = await this.#targets().catch(() => [])
    if (this.#closed) return
    const target = targets[targets.length === 0 ? 0 : randomInt(targets.length)]
    if (target === undefined) this.#connectLater()
    else this.#connect(target)
  }

  #connect(target: string): void {
    const file = this.#files
    const chain = file('sds_cert.pem')
    this.#target = target
    let hasEnded = false
    const client = new AdsClient({
      target,
      serverName: /"?sni"?: ?"?([^"\s,]+)/.exec(file('bootstrap.yaml'))?.[1] ?? '',
      roots: file('cacert.pem'),
      chain,
      privateKey: file('sds_key.pem'),
      nodeId: /CN=(.+)/.exec(new X509Certificate(chain).subject)?.[1] ?? '',
      onResponse: ({ typeUrl, resources }) => {
        this.#failures = 0
        if (typeUrl !== ROUTES) return
        for (const { name, resource } of resources)
          if (name.startsWith('rds-outbound')) this.#routes.set(name, Buffer.from(resource?.value ?? []))
      },
      onAcknowledged: () => {
        for (const [text, resolve] of this.#awaited) {
          if (![...this.#routes.values()].some((routes) => routes.includes(text))) continue
          this.#awaited.delete(text)
          resolve(process.hrtime.bigint())
        }
      },
      onError: () => {
        if (this.#closed || hasEnded) return
        hasEnded = true
        client.close()
        this.#connectLater()
      },
    })
    this.#client = client
  }
}
