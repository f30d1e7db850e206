import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** What the stand-in reads of a DiscoveryRequest. */
export interface SecretRequest {
  readonly versionInfo: string
  readonly names: readonly string[]
  readonly nonce: string
  /** The message of an error, if the last response was refused. */
  readonly refusal: string | undefined
}

/** A secret of SDS: a chain with its key, PEM. */
export interface TlsSecret {
  readonly name: string
  readonly chain: string
  readonly privateKey: string
}

const SECRET_TYPE = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'

/** A message `X509BundlesResponse`. */
export function encodeBundles(bundles: ReadonlyMap<string, Buffer>): Buffer {
  const writer = new BinaryWriter()
  for (const [trustDomain, bundle] of bundles)
    member(writer, 2, (entry) =>
      entry.tag(1, WireType.LengthDelimited).string(trustDomain).tag(2, WireType.LengthDelimited).bytes(bundle),
    )
  return Buffer.from(writer.finish())
}

/** A message `DiscoveryResponse` with secrets. */
export function encodeSecrets(secrets: readonly TlsSecret[], version: string): Buffer {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.LengthDelimited).string(version)
  for (const secret of secrets)
    member(writer, 2, (any) => {
      any.tag(1, WireType.LengthDelimited).string(SECRET_TYPE)
      any.tag(2, WireType.LengthDelimited).bytes(encodeSecret(secret))
    })
  writer.tag(4, WireType.LengthDelimited).string(SECRET_TYPE)
  writer.tag(5, WireType.LengthDelimited).string(nonceOf(version))
  return Buffer.from(writer.finish())
}

/** Nonce of the response with these secrets. */
export function nonceOf(version: string): string {
  return `nonce-${version}`
}

/** A message `DiscoveryRequest`. */
export function decodeRequest(message: Uint8Array): SecretRequest {
  const reader = new BinaryReader(message)
  const names: string[] = []
  let [versionInfo, nonce] = ['', '']
  let refusal: string | undefined
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag()
    if (field === 1) versionInfo = reader.string()
    else if (field === 3) names.push(reader.string())
    else if (field === 5) nonce = reader.string()
    else if (field === 6) refusal = Buffer.from(reader.bytes()).toString('utf8')
    else reader.skip(type, field)
  }
  return { versionInfo, names, nonce, refusal }
}

function encodeSecret({ name, chain, privateKey }: TlsSecret): Uint8Array {
  const writer = new BinaryWriter()
  writer.tag(1, WireType.LengthDelimited).string(name)
  member(writer, 2, (certificate) => {
    member(certificate, 1, (source) => source.tag(2, WireType.LengthDelimited).bytes(Buffer.from(chain)))
    member(certificate, 2, (source) => source.tag(2, WireType.LengthDelimited).bytes(Buffer.from(privateKey)))
  })
  return writer.finish()
}

function member(writer: BinaryWriter, field: number, write: (inner: BinaryWriter) => unknown): void {
  const inner = new BinaryWriter()
  write(inner)
  writer.tag(field, WireType.LengthDelimited).bytes(inner.finish())
}
