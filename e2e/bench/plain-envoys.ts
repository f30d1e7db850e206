import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { testAuthority } from '@osm-ts/driver-testkit'

import { type Address, LOOPBACK, type PlainPair, PlainProcesses } from './plain-processes.js'

const ROUTER = {
  name: 'envoy.filters.http.router',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' },
}

/** Two Envoys that somebody has configured by hand, with as little as it takes: HTTP in, mutual TLS between them, HTTP out. */
export function startPlainEnvoys(envoy: string, folder: string, server: Address): Promise<PlainPair> {
  return PlainProcesses.pair(envoy, folder, async (processes) => {
    const authority = testAuthority('plain')
    const { chain, privateKey } = authority.issue('server.plain')
    const tls = {
      tls_certificates: [{ certificate_chain: { inline_string: chain }, private_key: { inline_string: privateKey } }],
      validation_context: { trusted_ca: { inline_string: authority.certificate } },
    }
    const inbound = await run(processes, 'server', server, {
      listener: { common_tls_context: tls, require_client_certificate: true },
    })
    return run(processes, 'client', inbound, { cluster: { common_tls_context: tls, sni: 'server.plain' } })
  })
}

/** Starts one and gives the address that it listens on. */
async function run(
  processes: PlainProcesses,
  name: string,
  to: Address,
  tls: { readonly listener?: object; readonly cluster?: object },
): Promise<Address> {
  const config = join(processes.folder, `${name}.json`)
  const admin = join(processes.folder, `${name}.admin`)
  await writeFile(config, JSON.stringify(bootstrap(to, tls)), { mode: 0o600 })
  const args = ['--config-path', config, '--admin-address-path', admin, '--disable-hot-restart', '--concurrency', '1']
  let found: Address | undefined
  await processes.run(`the Envoy of the ${name}`, [...args, '-l', 'error'], async () => {
    found = await listening(admin)
    return found !== undefined
  })
  if (found === undefined) throw new Error(`the Envoy of the ${name} does not listen`)
  return found
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
