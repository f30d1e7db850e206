import { AdsClient } from './ads-client.js'
import { proxyCredential, type ProxyCredentialOptions } from './proxy-credential.js'

/** Which proxy, and where its control plane is. */
export interface SimulatedProxyOptions extends ProxyCredentialOptions {
  /** `host:port`. */
  readonly target: string
  /** Why a response is refused; it is acknowledged where this gives nothing. */
  readonly refuse?: ConstructorParameters<typeof AdsClient>[0]['refuse']
  /** What the answer to a response waits for. */
  readonly hold?: ConstructorParameters<typeof AdsClient>[0]['hold']
}

/** A proxy with the certificate that the injector would have given it, which keeps what it is told. */
export class SimulatedProxy {
  readonly #client: AdsClient
  readonly #resources = new Map<string, string>()
  #responses = 0
  #error: Error | undefined

  private constructor(options: Omit<ConstructorParameters<typeof AdsClient>[0], 'onError'>) {
    this.#client = new AdsClient({
      ...options,
      onError: (error) => {
        this.#error ??= error
      },
      onResponse: ({ typeUrl, resources, removedResources }) => {
        this.#responses += 1
        for (const { name, version } of resources) this.#resources.set(`${typeUrl} ${name}`, version)
        for (const name of removedResources) this.#resources.delete(`${typeUrl} ${name}`)
      },
    })
  }

  static async connect(options: SimulatedProxyOptions): Promise<SimulatedProxy> {
    return (await SimulatedProxy.prepare(options))()
  }

  /** Has its certificate issued, so that it can connect when the API server cannot be asked. */
  static async prepare(options: SimulatedProxyOptions): Promise<() => SimulatedProxy> {
    const { commonName, chain, privateKey, roots } = await proxyCredential(options)
    const serverName = `osm-controller.${options.osmNamespace}.svc.cluster.local`
    const { target, refuse, hold } = options
    const fields = {
      target,
      serverName,
      roots,
      chain,
      privateKey,
      nodeId: commonName,
      ...(refuse && { refuse }),
      ...(hold && { hold }),
    }
    return () => new SimulatedProxy(fields)
  }

  /** Versions of all resources that it has, by type and name; sorted. */
  get versions(): readonly (readonly [resource: string, version: string])[] {
    return [...this.#resources].sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** Names of the resources that it has. */
  get names(): readonly string[] {
    return this.versions.map(([resource]) => resource)
  }

  get responses(): number {
    return this.#responses
  }

  /** Why its stream ended; undefined while it lives. */
  get error(): Error | undefined {
    return this.#error
  }

  close(): void {
    this.#client.close()
  }
}
