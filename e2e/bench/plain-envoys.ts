import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { issueLeaf, MemoryCaStore, TresorProvider, systemClock } from '@osm-ts/core'
import { until } from '@osm-ts/driver-api/toolkit'

/** Where something listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

export const LOOPBACK = '127.0.0.1'
const ROUTER = {
  name: 'envoy.filters.http.router',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
}

/** Two Envoys that somebody has configured by hand, with as little as it takes: HTTP in, mutual TLS between them, HTTP out. */
export class PlainEnvoys {
  readonly #processes: ChildProcess[] = []
  readonly #envoy: string
  readonly #folder: string

  private constructor(envoy: string, folder: string) {
    this.#envoy = envoy
    this.#folder = folder
  }

  /** Starts both in front of a server. `client` is where requests go in. */
  static async start(
    envoy: string,
    folder: string,
    server: Address,
  ): Promise<{ readonly envoys: PlainEnvoys; readonly client: Address }> {
    await mkdir(folder)
    const envoys = new PlainEnvoys(envoy, folder)
    try {
      const { root, chain, key } = await certificateOfBoth()
      const tls = {
        tls_certificates: [{ certificate_chain: { inline_string: chain }, private_key: { inline_string: key } }],
        validation_context: { trusted_ca: { inline_string: root } },
      }
      const inbound = await envoys.#run('server', server, {
        listener: { common_tls_context: tls, require_client_certificate: true },
      })
      const client = await envoys.#run('client', inbound, { cluster: { common_tls_context: tls, sni: 'server.plain' } })
      return { envoys, client }
    } catch (error) {
      await envoys.stop()
      throw error
    }
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.#processes.map(async (process) => {
        if (process.exitCode !== null || process.signalCode !== null) return
        const ended = once(process, 'exit')
        process.kill('SIGKILL')
        await ended
      }),
    )
  }

  /** Starts one and gives the address that it listens on. */
  async #run(
    name: string,
    to: Address,
    tls: { readonly listener?: object; readonly cluster?: object },
  ): Promise<Address> {
    const config = join(this.#folder, `${name}.json`)
    const admin = join(this.#folder, `${name}.admin`)
    await writeFile(config, JSON.stringify(bootstrap(to, tls)), { mode: 0o600 })
    const process = spawn(
      this.#envoy,
      [
        '--config-path',
        config,
        '--admin-address-path',
        admin,
        '--disable-hot-restart',
        '--concurrency',
        '1',
        '-l',
        'error',
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
    this.#processes.push(process)
    let found: Address | undefined
    await until(async () => {
      if (process.exitCode !== null) throw new Error(`the Envoy of the ${name} ended with ${process.exitCode}`)
      found = await listening(admin)
      return found !== undefined
    }, `the Envoy of the ${name}`)
    if (found === undefined) throw new Error(`the Envoy of the ${name} does not listen`)
    return found
  }
}

/** Where an Envoy listens once it is ready; undefined before. */
async function listening(adminFile: string): Promise<Address | undefined> {
  try {
    const admin = (await readFile(adminFile, 'utf8')).trim()
    if (admin === '' || !(await fetch(`http://${admin}/ready`)).ok) return undefined
    const listeners = (await (await fetch(`http://${admin}/listeners?format=json`)).json()) as {
      readonly listener_statuses: readonly {
        readonly local_address: { readonly socket_address: { readonly address: string; readonly port_value: number } }
      }[]
    }
    const address = listeners.listener_statuses[0]?.local_address.socket_address
    return address === undefined ? undefined : { host: address.address, port: address.port_value }
  } catch {
    // Not there yet.
    return undefined
  }
}

function bootstrap(
  to: Address,
  { listener, cluster }: { readonly listener?: object; readonly cluster?: object },
): object {
  return {
    admin: { address: socketAddress({ host: LOOPBACK, port: 0 }) },
    static_resources: {
      listeners: [
        {
          name: 'in',
          address: socketAddress({ host: LOOPBACK, port: 0 }),
          filter_chains: [
            {
              filters: [
                {
                  name: 'envoy.filters.network.http_connection_manager',
                  typed_config: {
                    '@type':
                      'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
                    stat_prefix: 'in',
                    http_filters: [ROUTER],
                    route_config: {
                      virtual_hosts: [
                        {
                          name: 'all',
                          domains: ['*'],
                          routes: [{ match: { prefix: '/' }, route: { cluster: 'out' } }],
                        },
                      ],
                    },
                  },
                },
              ],
              ...transportSocket('DownstreamTlsContext', listener),
            },
          ],
        },
      ],
      clusters: [
        {
          name: 'out',
          type: 'STATIC',
          load_assignment: {
            cluster_name: 'out',
            endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress(to) } }] }],
          },
          ...transportSocket('UpstreamTlsContext', cluster),
        },
      ],
    },
  }
}

function transportSocket(type: 'DownstreamTlsContext' | 'UpstreamTlsContext', context: object | undefined): object {
  if (context === undefined) return {}
  const url = `type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.${type}`
  return { transport_socket: { name: 'envoy.transport_sockets.tls', typed_config: { '@type': url, ...context } } }
}

function socketAddress({ host, port }: Address): object {
  return { socket_address: { address: host, port_value: port } }
}

/** One certificate for both, and the root that has signed it. */
export async function certificateOfBoth(): Promise<{
  readonly root: string
  readonly chain: string
  readonly key: string
}> {
  const provider = await TresorProvider.open({
    store: new MemoryCaStore(),
    clock: systemClock,
    rootKey: { algorithm: 'ECDSA' },
  })
  try {
    const issued = await issueLeaf(
      provider,
      {
        kind: 'service',
        commonName: 'server.plain',
        dnsNames: ['server.plain'],
        uris: [],
        ipAddresses: [],
        validityMs: 3_600_000,
        key: { algorithm: 'ECDSA' },
      },
      AbortSignal.timeout(10_000),
    )
    return { root: provider.trustBundle('workload').join('\n'), chain: issued.chain, key: issued.privateKey() }
  } finally {
    provider.close()
  }
}
