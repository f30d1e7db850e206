import type { Credential } from '@osm-ts/driver-api'
import type { PipyConfig } from '@osm-ts/driver-pipy'
import { testAuthority, type TestAuthority } from '@osm-ts/driver-testkit'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type App, freeAddresses, httpApp, tcpApp } from './apps.js'
import { type Account, baseConfig, CONTROL_PLANE, principalOf, SERVICE, sidecarName } from './base-config.js'
import { type Channel, type FurtherCredentials, startChannel, type WorkerWord } from './channel.js'
import { startWorker, type Worker, type WorkerBootstrap } from './worker.js'

/** A client and a server with a real Pipy beside each, and the addresses of both. */
export class Shop {
  readonly authority: TestAuthority
  /** Signs certificates of sidecars towards the control plane, and its own. */
  readonly control: TestAuthority
  readonly channel: Channel
  readonly apps: { readonly http: App; readonly second: App; readonly tcp: App }
  readonly workers: Readonly<Record<'client' | 'server', Worker>>
  readonly at: Readonly<Record<Place, string>>

  private constructor(parts: Pick<Shop, 'authority' | 'control' | 'channel' | 'apps' | 'workers' | 'at'>) {
    this.authority = parts.authority
    this.control = parts.control
    this.channel = parts.channel
    this.apps = parts.apps
    this.workers = parts.workers
    this.at = parts.at
  }

  /** @param enter - has the server's sidecar run elsewhere, see {@link startWorker} */
  static async open(enter?: WorkerBootstrap['enter']): Promise<Shop> {
    const authority = testAuthority('workloads')
    const control = testAuthority('control plane')
    const channel = await startChannel(control.issue(CONTROL_PLANE), control.certificate)
    const apps = { http: await httpApp('first'), second: await httpApp('second'), tcp: await tcpApp('hello\n') }
    const addresses = await freeAddresses(places.length)
    const at = Object.fromEntries(places.map((place, i) => [place, addresses[i] ?? ''])) as Record<Place, string>
    const worker = (name: 'client' | 'server', admin: string): Promise<Worker> =>
      startWorker({
        channel: channel.address,
        serverName: CONTROL_PLANE,
        credential: control.issue(sidecarName(name)),
        root: control.certificate,
        admin,
        ...(name === 'server' && enter !== undefined ? { enter } : {}),
      })
    const workers = { client: await worker('client', at.clientAdmin), server: await worker('server', at.serverAdmin) }
    return new Shop({ authority, control, channel, apps, workers, at })
  }

  /** A certificate of an account, with the names of the service for the server. */
  issue(account: Account, authority = this.authority): Credential {
    const principal = principalOf(account)
    return authority.issue(principal, { dns: account === 'server' ? [principal, SERVICE] : [principal] })
  }

  /** Gives both sidecars what they are to do, with certificates of their accounts. */
  async apply(client: Partial<PipyConfig>, server: Partial<PipyConfig>): Promise<void> {
    const words = await Promise.all([this.give('client', client), this.give('server', server)])
    for (const { refused } of words) if (refused !== undefined) throw new Error(`refused: ${refused.error}`)
  }

  give(
    name: 'client' | 'server',
    config: Partial<PipyConfig>,
    credential = this.issue(name),
    further: FurtherCredentials = {},
  ): Promise<WorkerWord> {
    return this.channel.publish(sidecarName(name), this.config(name, config), credential, further)
  }

  config(name: string, config: Partial<PipyConfig>): PipyConfig {
    return baseConfig(this.authority.certificate, name, config)
  }

  /** Whether a sidecar says that it is ready. */
  async isReady(admin: string): Promise<boolean> {
    try {
      return (await fetch(`http://${admin}/ready`)).ok
    } catch {
      return false
    }
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.workers).map((worker) => worker.stop()))
    await Promise.all(Object.values(this.apps).map((app) => app.stop()))
    await this.channel.stop()
  }

  /** Waits for an answer that changes with the state of connections. */
  async until<T>(ask: () => T | Promise<T>, expected: T, what: string): Promise<void> {
    await eventually(ask, (answer) => answer === expected, { what })
  }
}

const places = [
  'proxy',
  'clientTcp',
  'clientMetrics',
  'clientAdmin',
  'servedHttp',
  'servedTcp',
  'ingress',
  'ingressTls',
  'probe',
  'serverAdmin',
  'lateHttp',
] as const

type Place = (typeof places)[number]
