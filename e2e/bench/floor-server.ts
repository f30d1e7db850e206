import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'

import { rawDeltaAds } from './raw-ads.js'

/** A gRPC server that knows nothing: it keeps streams open and writes the bytes that it is given to all of them. */
export class FloorServer {
  readonly #server: Server
  readonly #streams = new Set<ServerDuplexStream<Buffer, Buffer>>()

  private constructor(server: Server) {
    this.#server = server
  }

  /** Starts on a free port of loopback. */
  static async start(options: {
    readonly chain: string
    readonly privateKey: string
    readonly clientRoots: string
  }): Promise<{ readonly server: FloorServer; readonly port: number }> {
    const grpc = new Server({ 'grpc.max_send_message_length': -1 })
    const floor = new FloorServer(grpc)
    grpc.addService(rawDeltaAds, {
      DeltaAggregatedResources: (stream: ServerDuplexStream<Buffer, Buffer>) => {
        floor.#streams.add(stream)
        const leave = (): void => {
          floor.#streams.delete(stream)
        }
        stream.on('close', leave)
        stream.on('cancelled', leave)
        stream.on('error', leave)
        stream.on('data', () => undefined)
      },
    })
    const credentials = ServerCredentials.createSsl(
      Buffer.from(options.clientRoots),
      [{ cert_chain: Buffer.from(options.chain), private_key: Buffer.from(options.privateKey) }],
      true,
    )
    const port = await new Promise<number>((resolve, reject) => {
      grpc.bindAsync('127.0.0.1:0', credentials, (error, bound) => {
        if (error === null) resolve(bound)
        else reject(error)
      })
    })
    return { server: floor, port }
  }

  get streams(): number {
    return this.#streams.size
  }

  /** Writes the same bytes to every stream. */
  push(response: Buffer): void {
    for (const stream of this.#streams) stream.write(response)
  }

  close(): void {
    this.#server.forceShutdown()
  }
}
