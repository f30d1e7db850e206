import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import {
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js'

/** A gRPC server on the loopback. */
export interface GrpcServer {
  readonly port: number
  readonly stop: () => void
}

/** Answers a request, now or later. */
type Answer<Request, Response> = (request: Request, done: (response: Response) => void) => void

/** A method whose messages are passed on as bytes. */
export function bytesMethod(
  path: string,
  { isStream }: { readonly isStream: boolean },
): MethodDefinition<Buffer, Buffer> {
  const same = (bytes: Buffer): Buffer => bytes
  return {
    path,
    requestStream: isStream,
    responseStream: isStream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  }
}

/** Serves one unary method in plain text on a free port, with messages as bytes. */
export async function serveBytes(path: string, answer: Answer<Buffer, Uint8Array>): Promise<GrpcServer> {
  const server = new Server()
  server.addService(
    { method: bytesMethod(path, { isStream: false }) },
    {
      method: ({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
        answer(request, (response) => done(null, Buffer.from(response))),
    },
  )
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound)
      else reject(error)
    })
  })
  return { port, stop: () => server.forceShutdown() }
}

/** The same with messages of these types. */
export function serveUnary<Request extends DescMessage, Response extends DescMessage>(
  path: string,
  types: { readonly request: Request; readonly response: Response },
  answer: Answer<MessageShape<Request>, MessageInitShape<Response>>,
): Promise<GrpcServer> {
  return serveBytes(path, (bytes, done) =>
    answer(fromBinary(types.request, bytes), (response) =>
      done(toBinary(types.response, create(types.response, response))),
    ),
  )
}
