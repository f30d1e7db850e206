import {
  certificateNames,
  type KubernetesApi,
  parseMeshDomains,
  SecretCaStore,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import type { ProxyUUID } from '@osm-ts/driver-api'

import { AdsClient } from '../../bench/ads-client.js'

const domains = parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' })

/** Which proxy, and where its control plane is. */
export interface SimulatedProxyOptions {
  readonly api: KubernetesApi
  readonly osmNamespace: string
  /** `host:port`. */
  readonly target: string
  readonly uuid: ProxyUUID
  readonly account: { readonly namespace: string; readonly name: string }
  readonly signal: AbortSignal
}

/** A proxy with the certificate that the injector would have given it, which keeps what it is told. */
export class SimulatedProxy {
  readonly #client: AdsClient
  readonly #resources = new Map<string, string>()
  #responses = 0
  #error: Error | undefined

  private constructor(options: Omit<ConstructorParameters<typeof AdsClient>[0], 'onAcknowledged' | 'onError'>) {
    this.#client = new AdsClient({
      ...options,
      onAcknowledged: () => undefined,
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

  /** Has its certificate issued, so that it can connect when the API server can not be asked. */
  static async prepare(options: SimulatedProxyOptions): Promise<() => SimulatedProxy> {
    const { api, osmNamespace, target, uuid, account, signal } = options
    const store = new SecretCaStore({ api, namespace: osmNamespace, secretName: 'osm-ca-bundle', labels: {}, signal })
    const key = { algorithm: 'ECDSA' } as const
    const authority = await TresorProvider.open({ store, clock: systemClock, rootKey: key })
    try {
      const names = certificateNames({ kind: 'proxy', uuid, serviceAccount: account }, domains)
      const certificate = await authority.issue({ ...names, validityMs: 3_600_000, key }, signal)
      const fields = {
        target,
        serverName: `osm-controller.${osmNamespace}.svc.cluster.local`,
        roots: authority.trustBundle('control-plane').join('\n'),
        chain: certificate.chain,
        privateKey: certificate.privateKey(),
        nodeId: names.commonName,
      }
      return () => new SimulatedProxy(fields)
    } finally {
      authority.close()
    }
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
