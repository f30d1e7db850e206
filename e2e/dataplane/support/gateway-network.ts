import { type ChildProcess, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { eventually } from '@osm-ts/driver-api/toolkit'

import { namespaceNames, run } from './kernel.js'
import { envoyBinary } from './mesh.js'

const REJECT = ['-j', 'REJECT', '--reject-with', 'tcp-reset']

/** Where a gateway passes connections on to, by their server name. */
export interface GatewayRoute {
  readonly listen: { readonly address: string; readonly port: number }
  readonly serverName: string
  readonly to: { readonly address: string; readonly port: number }
  /** Counts connections. */
  readonly name: string
}

/**
 * A machine in a network of its own, and a gateway between that and the network of the mesh. The gateway forwards packets of the machine to the control
 * plane; everything else it refuses to forward.
 */
export class GatewayNetwork {
  /** Address of this end, where the mesh is. */
  readonly mesh: string
  /** Addresses of the gateway: in the network of the mesh, and in that of the machine. */
  readonly outer: string
  readonly inner: string
  readonly machine: string
  readonly #gateway: string
  readonly #inside: string
  readonly #link: string
  readonly #subnet: number

  /** As those of {@link MachineNetwork}. */
  constructor(name: string, subnet: number) {
    this.#gateway = `osmtest-${String(process.pid)}-${name}g`
    this.#inside = `osmtest-${String(process.pid)}-${name}`
    this.#link = `osmt-${name}`
    this.#subnet = subnet
    this.mesh = `10.203.${subnet}.1`
    this.outer = `10.203.${subnet}.2`
    this.inner = `10.204.${subnet}.1`
    this.machine = `10.204.${subnet}.2`
  }

  /** Words before a program that runs on the machine. */
  get inside(): readonly ['netns', 'exec', string] {
    return ['netns', 'exec', this.#inside]
  }

  create(): void {
    const [gateway, machine] = [this.#gateway, this.#inside]
    for (const namespace of [gateway, machine]) {
      run('ip', ['netns', 'add', namespace])
      run('ip', ['-n', namespace, 'link', 'set', 'lo', 'up'])
    }
    run('ip', ['link', 'add', this.#link, 'type', 'veth', 'peer', 'name', 'outer', 'netns', gateway])
    run('ip', ['-n', gateway, 'link', 'add', 'inner', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', machine])
    run('ip', ['address', 'add', `${this.mesh}/24`, 'dev', this.#link])
    run('ip', ['link', 'set', this.#link, 'up'])
    for (const [namespace, device, address] of [
      [gateway, 'outer', this.outer],
      [gateway, 'inner', this.inner],
      [machine, 'eth0', this.machine],
    ] as const) {
      run('ip', ['-n', namespace, 'address', 'add', `${address}/24`, 'dev', device])
      run('ip', ['-n', namespace, 'link', 'set', device, 'up'])
    }
    run('ip', ['-n', machine, 'route', 'add', 'default', 'via', this.inner])
    run('ip', ['route', 'add', `10.204.${this.#subnet}.0/24`, 'via', this.outer])
    this.#inGateway('sysctl', '-q', '-w', 'net.ipv4.ip_forward=1')
    this.#inGateway('iptables', '-P', 'FORWARD', 'DROP')
    this.#inGateway('iptables', '-A', 'FORWARD', '-m', 'conntrack', '--ctstate', 'ESTABLISHED,RELATED', '-j', 'ACCEPT')
    this.#inGateway('iptables', '-A', 'FORWARD', '-o', 'inner', '-p', 'tcp', ...REJECT)
  }

  /** Forwards connections of the machine to the mesh, except to these ports. */
  forwardAllBut(ports: readonly number[]): void {
    const toMesh = ['-A', 'FORWARD', '-i', 'inner', '-p', 'tcp', '-d', this.mesh]
    for (const port of ports) this.#inGateway('iptables', ...toMesh, '--dport', String(port), ...REJECT)
    this.#inGateway('iptables', ...toMesh, '-j', 'ACCEPT')
  }

  /** Starts an Envoy of the gateway that has no certificate and passes connections on by their server name. */
  async startEnvoy(folder: string, routes: readonly GatewayRoute[]): Promise<ChildProcess> {
    const path = join(folder, 'gateway.json')
    await writeFile(path, JSON.stringify(passthrough(routes)))
    const args = ['netns', 'exec', this.#gateway, envoyBinary(), '-c', path, '--disable-hot-restart', '-l', 'error']
    const child = spawn('ip', args, { stdio: ['ignore', 'inherit', 'inherit'] })
    await eventually(
      () => {
        try {
          return this.connections()
        } catch {
          return undefined
        }
      },
      (found) => found !== undefined,
      { what: 'that the gateway runs' },
    )
    return child
  }

  /** Connections that the Envoy of the gateway has passed on so far, by name of the route. */
  connections(): Readonly<Record<string, number>> {
    const text = this.#inGateway('curl', '-s', '-f', 'http://127.0.0.1:9901/stats?filter=upstream_cx_total')
    const counts: Record<string, number> = {}
    for (const [, name = '', count] of text.matchAll(/^cluster\.([a-z-]+)\.upstream_cx_total: (\d+)$/gm))
      counts[name] = Number(count)
    return counts
  }

  remove(): void {
    for (const namespace of [this.#inside, this.#gateway])
      if (namespaceNames().includes(namespace)) run('ip', ['netns', 'delete', namespace])
  }

  /** Words before a program that runs on the gateway. */
  get onGateway(): readonly ['netns', 'exec', string] {
    return ['netns', 'exec', this.#gateway]
  }

  #inGateway(...argv: readonly string[]): string {
    return run('ip', [...this.onGateway, ...argv])
  }
}

function passthrough(routes: readonly GatewayRoute[]): unknown {
  const address = (at: GatewayRoute['listen']) => ({
    socket_address: { address: at.address, port_value: at.port },
  })
  const listeners = new Map<string, { readonly listen: GatewayRoute['listen']; readonly served: GatewayRoute[] }>()
  for (const route of routes) {
    const { listen } = route
    const key = `${listen.address}:${String(listen.port)}`
    const listener = listeners.get(key) ?? { listen, served: [] }
    listener.served.push(route)
    listeners.set(key, listener)
  }
  return {
    admin: { address: address({ address: '127.0.0.1', port: 9901 }) },
    static_resources: {
      listeners: [...listeners].map(([name, { listen, served }]) => ({
        name,
        address: address(listen),
        listener_filters: [
          {
            name: 'envoy.filters.listener.tls_inspector',
            typed_config: {
              '@type': 'type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector',
            },
          },
        ],
        filter_chains: served.map((route) => ({
          filter_chain_match: { server_names: [route.serverName] },
          filters: [
            {
              name: 'envoy.filters.network.tcp_proxy',
              typed_config: {
                '@type': 'type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy',
                stat_prefix: route.name,
                cluster: route.name,
              },
            },
          ],
        })),
      })),
      clusters: routes.map(({ name, to }) => ({
        name,
        type: 'STATIC',
        connect_timeout: '5s',
        load_assignment: {
          cluster_name: name,
          endpoints: [{ lb_endpoints: [{ endpoint: { address: address(to) } }] }],
        },
      })),
    },
  }
}
