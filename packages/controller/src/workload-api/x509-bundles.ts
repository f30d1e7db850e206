import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { onAbort } from '@osm-ts/driver-api/toolkit'

/** Bundles by trust domain, such as `spiffe://cluster.local`: the DER of certificates, one after the other. */
export type X509Bundles = ReadonlyMap<string, Uint8Array>

const METHOD = '/SpiffeWorkloadAPI/FetchX509Bundles'
/** Without it a Workload API refuses calls: a request that was forged by way of a browser could not have it. */
const SECURITY_HEADER = 'workload.spiffe.io'
const BUNDLES_FIELD = 2
const MAX_MESSAGE_BYTES = 4 << 20

/**
 * The bundles that the SPIFFE Workload API at a Unix socket gives out: those in force, then all of them again whenever one changes. Ends with the signal.
 *
 * @throws Error if there is no such server, it refuses the caller, or it ends the stream
 */
export async function* watchX509Bundles(socketPath: string, signal: AbortSignal): AsyncGenerator<X509Bundles, void> {
  const metadata = new Metadata()
  metadata.set(SECURITY_HEADER, 'true')
  const client = new Client(`unix:${socketPath}`, credentials.createInsecure(), {
    'grpc.enable_http_proxy': 0,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  })
  const call = client.makeServerStreamRequest(METHOD, () => Buffer.alloc(0), decodeX509Bundles, {}, metadata)
  const letGo = onAbort(signal, () => call.cancel())
  try {
    for await (const bundles of call as AsyncIterable<X509Bundles>) yield bundles
    if (!signal.aborted) throw new Error('the server has ended the stream of bundles')
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    letGo()
    call.cancel()
    client.close()
  }
}

/**
 * Reads a message `X509BundlesResponse`, whose second field is a map of trust domains to bundles.
 *
 * @throws Error if it is not such a message
 */
export function decodeX509Bundles(message: Uint8Array): X509Bundles {
  const bundles = new Map<string, Uint8Array>()
  const reader = new BinaryReader(message)
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field !== BUNDLES_FIELD || type !== WireType.LengthDelimited) {
      reader.skip(type, field)
      continue
    }
    const [trustDomain, bundle] = decodeEntry(reader.bytes())
    bundles.set(trustDomain, bundle)
  }
  return bundles
}

function decodeEntry(entry: Uint8Array): readonly [string, Uint8Array] {
  const reader = new BinaryReader(entry)
  let trustDomain = ''
  let bundle = new Uint8Array()
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === 1 && type === WireType.LengthDelimited) trustDomain = reader.string()
    else if (field === 2 && type === WireType.LengthDelimited) bundle = new Uint8Array(reader.bytes())
    else reader.skip(type, field)
  }
  return [trustDomain, bundle]
}
