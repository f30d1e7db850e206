import type { PipyConfig } from '@osm-ts/driver-pipy'
import { testAuthority } from '@osm-ts/driver-testkit'
import type { InterceptionOptions } from '@osm-ts/interception'

import { createMeshNetwork, type MeshNetwork, type WorkloadNetwork } from '@osm-ts/standalone/testing'
import { askInside, type InsideAnswer, type Question } from '../../dataplane/support/inside.js'
import { run } from '../../dataplane/support/kernel.js'
import { startAppInside } from './app-inside.js'
import { type Account, baseConfig, CONTROL_PLANE, principalOf, SERVICE, sidecarName } from './base-config.js'
import { type Channel, startChannel } from './channel.js'
import { startWorker } from './worker.js'

/** User that sidecars run as; what they send is not redirected. */
const SIDECAR_UID = 1500

/** Ports of the server's pod that are not redirected, and of others that the client's pod does not redirect. */
export const EXCLUDED = { inbound: 7070, outbound: 7071 } as const

/** Who has a network namespace. The last two have no sidecar, and answer on ports of all kinds. */
export const places = ['client', 'other', 'server', 'good', 'evil'] as const
export type Place = (typeof places)[number]

const interception: InterceptionOptions = {
  proxyUid: SIDECAR_UID,
  inboundPortExclusions: [EXCLUDED.inbound],
  outboundPortExclusions: [EXCLUDED.outbound],
  ipv6: 'refuse',
}

/** Sidecars of class pipy in network namespaces whose connections are redirected to them, and servers outside of the mesh. */
export class NetnsTopology {
  readonly #network: MeshNetwork
  readonly #pods: Readonly<Record<Place, WorkloadNetwork>>
  readonly #channel: Channel
  readonly #authority = testAuthority('workloads')
  readonly #end: (() => Promise<void>)[] = []

  private constructor(network: MeshNetwork, pods: Readonly<Record<Place, WorkloadNetwork>>, channel: Channel) {
    this.#network = network
    this.#pods = pods
    this.#channel = channel
  }

  static async open(): Promise<NetnsTopology> {
    const { signal } = new AbortController()
    const control = testAuthority('control plane')
    const network = await createMeshNetwork('free', signal)
    const pods = {} as Record<Place, WorkloadNetwork>
    for (const name of places) {
      const isOutside = name === 'good' || name === 'evil'
      pods[name] = await network.addWorkload(
        { name, interception: isOutside ? 'none' : interception, hosts: [] },
        signal,
      )
    }
    // Sidecars look up where names outside the mesh are.
    pods.client.setHosts([{ address: pods.good.address, names: ['good.outside', 'secure.outside'] }])
    const channel = await startChannel(control.issue(CONTROL_PLANE), control.certificate, network.hostAddress)
    const topology = new NetnsTopology(network, pods, channel)
    const started = await Promise.all(
      (['client', 'other', 'server'] as const).map((name) =>
        startWorker({
          channel: channel.address,
          serverName: CONTROL_PLANE,
          credential: control.issue(sidecarName(name)),
          root: control.certificate,
          admin: '127.0.0.1:15000',
          enter: (argv) => pods[name].command(argv, { uid: SIDECAR_UID }),
        }),
      ),
    )
    topology.#end.push(...started.map(({ stop }) => stop))
    const web = testAuthority('an outside authority')
    for (const name of ['good', 'evil'] as const) {
      const { chain, privateKey } = web.issue(`${name}.outside`)
      await topology.#app(name, 'http-server', 80)
      await topology.#app(name, 'http-server', EXCLUDED.outbound)
      await topology.#app(name, 'tls-server', 443, { CERT: chain, KEY: privateKey })
      await topology.#app(name, 'tcp-server', 9000, { BANNER: `220 ${name}` })
    }
    await topology.#app('server', 'http-server', 8080)
    await topology.#app('server', 'http-server', EXCLUDED.inbound)
    await topology.#app('server', 'tcp-server', 9000, { BANNER: '220 server' })
    return topology
  }

  address(name: Place): string {
    return this.#pods[name].address
  }

  /** An address that no one has: that of the server's services. */
  get vip(): string {
    return this.#network.vipRange.replace(/\.0\/\d+$/, '.7')
  }

  ask(from: Place, question: Question): Promise<InsideAnswer> {
    return askInside(this.#pods[from].namespace, question)
  }

  /** How many connections somebody in a namespace has opened so far. */
  opened(name: Place): number {
    const [names = '', values = ''] = run('ip', ['netns', 'exec', this.#pods[name].namespace, 'cat', '/proc/net/snmp'])
      .split('\n')
      .filter((line) => line.startsWith('Tcp:'))
    return Number(values.split(' ')[names.split(' ').indexOf('ActiveOpens')])
  }

  /** Gives a sidecar what it is to do. */
  async give(name: Account, config: Partial<PipyConfig>): Promise<void> {
    const listen = { inbound: '0.0.0.0:15003', outbound: '0.0.0.0:15001', metrics: '0.0.0.0:15010' }
    const whole = baseConfig(this.#authority.certificate, name, { mode: 'transparent', listen, ...config })
    const principal = principalOf(name)
    const credential = this.#authority.issue(principal, {
      dns: name === 'server' ? [principal, SERVICE] : [principal],
    })
    const { refused } = await this.#channel.publish(sidecarName(name), whole, credential)
    if (refused !== undefined) throw new Error(`refused: ${refused.error}`)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#end.map((end) => end()))
    await this.#channel.stop()
    await this.#network.destroy()
  }

  async #app(name: Place, program: string, port: number, extra: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#end.push(await startAppInside({ network: this.#pods[name], name, program, port, environment: extra }))
  }
}
