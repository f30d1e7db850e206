import { once } from 'node:events'
import { createServer, request, type Server } from 'node:https'
import { testAuthority } from '@osm-ts/driver-testkit'
import { listen } from '@osm-ts/driver-testkit/testing'
import {
  AzureStandIn,
  networkInterface,
  subscription,
  virtualMachine,
} from '../../../packages/endpoints-azure/test/index.js'

const tenant = '99999999-2222-4333-8444-555555555555'
/** Where osm-controller finds the Secret of the provider. */
const folder = '/etc/osm/endpoints/azure'

/** A virtual machine of the stand-in. */
export interface CloudMachine {
  readonly name: string
  readonly address: string
  /** As Azure tells it: `running`, `deallocated`. */
  readonly state?: string
}

/** The stand-in of Azure, which listens on loopback, at an address that pods reach. */
export class AzureCloud {
  readonly #standIn: AzureStandIn
  readonly #server: Server
  readonly #url: string
  readonly #authority: string

  private constructor(standIn: AzureStandIn, server: Server, url: string, authority: string) {
    this.#standIn = standIn
    this.#server = server
    this.#url = url
    this.#authority = authority
  }

  static async start(address: string): Promise<AzureCloud> {
    const standIn = await AzureStandIn.start()
    const authority = testAuthority('cloud')
    const { chain, privateKey } = authority.issue(address, { dns: [address] })
    const { hostname, port } = new URL(standIn.url)
    const server = createServer({ cert: chain, key: privateKey }, (asked, answer) => {
      const { method, url: path, headers } = asked
      const sent = request({ host: hostname, port, method, path, headers, ca: standIn.certificate }, (given) => {
        answer.writeHead(given.statusCode ?? 502, given.headers)
        given.pipe(answer)
      })
      sent.on('error', () => answer.destroy())
      asked.pipe(sent)
    })
    const url = `https://${address}:${await listen(server, address, 0)}`
    return new AzureCloud(standIn, server, url, authority.certificate)
  }

  /** What the chart is told of the provider, whose package is at that path of the image. */
  provider(path: string, integrity: string, secretName: string): object {
    const credential = { type: 'servicePrincipal', tenantId: tenant, clientId: tenant }
    return {
      name: 'azure',
      path,
      integrity,
      secretName,
      settings: {
        endpoints: { resourceManager: this.#url, authority: this.#url, caFile: `${folder}/ca.pem` },
        subscriptions: [{ id: subscription }],
        credential: { ...credential, clientSecretFile: `${folder}/secret` },
        intervalSeconds: 10,
      },
    }
  }

  /** The Secret of the provider. */
  secret(namespace: string, name: string): object {
    const stringData = { 'ca.pem': this.#authority, secret: 'right-secret' }
    return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, stringData }
  }

  /** Replaces the machines, all of which have the tag `app: store`, and how calls fail. */
  async put(machines: readonly CloudMachine[], faults: { readonly forbidden?: boolean } = {}): Promise<void> {
    const fleet = {
      virtualMachines: machines.map(({ name, state = 'running' }) =>
        virtualMachine(name, { state, tags: { app: 'store' } }),
      ),
      networkInterfaces: machines.map(({ name, address }) => networkInterface(name, address)),
    }
    await this.#standIn.put({ subscriptions: { [subscription]: fleet }, faults })
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
    await this.#standIn.stop()
  }
}
