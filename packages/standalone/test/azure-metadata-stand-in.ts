import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { AzureAuthority } from '../../core/test/machines/azure-authority.js'

/** The virtual machine that a stand-in answers for. */
export interface StandInMachine {
  readonly vmId: string
  readonly subscriptionId: string
}

/** Azure's metadata service as one virtual machine sees it, with an authority of its own. It serves the certificate of the issuer as well. */
export class AzureMetadataStandIn {
  readonly #server: Server
  readonly #machine: StandInMachine
  /** Documents that it repeats before it makes another one, as the real one may. */
  repeats = 0
  #authority: AzureAuthority | undefined
  #last: string | undefined

  constructor(machine: StandInMachine) {
    this.#machine = machine
    this.#server = createServer(({ url = '', headers }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://localhost')
      if (pathname === '/issuer.crt') {
        response.end(this.authority.issuer.der)
        return
      }
      const isAllowed = headers['metadata'] === 'true' && headers['x-forwarded-for'] === undefined
      if (pathname !== '/metadata/attested/document' || !isAllowed || !searchParams.has('api-version')) {
        response.writeHead(400).end('{"error":"Bad request"}')
        return
      }
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ encoding: 'pkcs7', signature: this.#document(searchParams.get('nonce') ?? '') }))
    })
  }

  /** Known once it listens: certificates name the address of their issuer. */
  get authority(): AzureAuthority {
    if (this.#authority === undefined) throw new Error('the stand-in does not listen')
    return this.#authority
  }

  /** Resolves to its address. */
  async listen(host = '127.0.0.1'): Promise<URL> {
    await new Promise<void>((resolve) => this.#server.listen(0, host, resolve))
    const { port } = this.#server.address() as AddressInfo
    const url = new URL(`http://${host}:${port}`)
    this.#authority = new AzureAuthority({ issuerUrl: `${url.origin}/issuer.crt` })
    return url
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #document(nonce: string): string {
    if (this.#last !== undefined && this.repeats > 0) {
      this.repeats -= 1
      return this.#last
    }
    this.#last = this.authority.document({ nonce, ...this.#machine })
    return this.#last
  }
}
