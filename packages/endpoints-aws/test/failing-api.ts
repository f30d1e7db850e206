import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How EC2 answers where moto cannot. */
export type Answer =
  | {
      readonly kind: 'error'
      readonly status: number
      readonly code: string
      readonly headers?: Readonly<Record<string, string>>
    }
  | { readonly kind: 'endless' }
  | { readonly kind: 'instance'; readonly id: string; readonly address: string }

/** A server in the form of the API of EC2 that fails as a test says. */
export class FailingApi {
  answer: Answer = { kind: 'endless' }
  calls = 0
  /** Keys that signed the calls. */
  readonly keys = new Set<string>()
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<FailingApi> {
    const server = createServer()
    const api = new FailingApi(server)
    server.on('request', (request, response) => {
      api.calls += 1
      api.keys.add(/Credential=(\w+)/.exec(request.headers.authorization ?? '')?.[1] ?? '')
      const { answer } = api
      if (answer.kind === 'error') response.writeHead(answer.status, answer.headers)
      response.end(bodyOf(answer, api.calls))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return api
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}

function bodyOf(answer: Answer, call: number): string {
  switch (answer.kind) {
    case 'error':
      return `<Response><Errors><Error><Code>${answer.code}</Code><Message>no</Message></Error></Errors></Response>`
    case 'endless':
      return `<DescribeInstancesResponse><reservationSet/><nextToken>token-${call}</nextToken></DescribeInstancesResponse>`
    case 'instance':
      return `<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>${answer.id}</instanceId><privateIpAddress>${answer.address}</privateIpAddress><instanceState><code>16</code><name>running</name></instanceState></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`
  }
}
