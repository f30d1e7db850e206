import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

import type { Logger } from '@osm-ts/driver-api'

import type { SigningRequest } from '../../src/certificates/certificate-provider.js'
import { generateRoot } from '../../src/certificates/certificate-authority.js'
import type { RemoteAuthority } from '../../src/certificates/remote-provider.js'
import { addressOctets, LeafWriter, type LeafFields } from '../../src/certificates/x509.js'
import { issuerFieldsOf } from '../../src/certificates/x509-fragments.js'

/** A certificate of a CA and its key. */
export interface Signer {
  readonly certificate: string
  readonly key: KeyObject
}

/** An authority outside the process, in this one: it signs whatever the test lets it sign. */
export class LocalAuthority implements RemoteAuthority {
  readonly name = 'local'
  readonly #now: () => number
  /** Top first. */
  signers: readonly Signer[]
  /** What differs from what was requested. */
  changes: Partial<LeafFields> = {}
  /** Happens before each answer. */
  before: () => Promise<void> = () => Promise.resolve()
  /** Replaces the answer. */
  answer: ((pem: string) => string) | undefined
  requests = 0

  private constructor(now: () => number, signers: readonly Signer[]) {
    this.#now = now
    this.signers = signers
  }

  static async start(now: () => number): Promise<LocalAuthority> {
    return new LocalAuthority(now, [await newRoot(now())])
  }

  async replaceRoot(): Promise<void> {
    this.signers = [await newRoot(this.#now())]
  }

  async sign(request: SigningRequest): Promise<string> {
    this.requests += 1
    await this.before()
    const signer = this.signers.at(-1)
    if (signer === undefined) throw new Error('the authority has no root')
    const now = this.#now()
    const written = await new LeafWriter(issuerOf(signer)).write({
      commonName: request.commonName,
      dnsNames: request.dnsNames,
      uris: request.uris,
      ipAddresses: request.ipAddresses.map(addressOctets),
      notBefore: now - 30_000,
      notAfter: now + request.validityMs,
      publicKey: request.publicKey,
      algorithm: request.algorithm,
      ...this.changes,
    })
    const chain = this.signers.slice(1).map(({ certificate }) => certificate)
    const pem = [written.pem, ...chain].join('')
    return this.answer?.(pem) ?? pem
  }

  async caCertificates(): Promise<string> {
    await this.before()
    return this.signers.map(({ certificate }) => certificate).join('')
  }
}

async function newRoot(now: number): Promise<Signer> {
  const { certificate, privateKey } = await generateRoot('workload', { algorithm: 'ECDSA' }, now)
  return { certificate, key: createPrivateKey(privateKey) }
}

function issuerOf({ certificate, key }: Signer): ConstructorParameters<typeof LeafWriter>[0] {
  return { ...issuerFieldsOf(new X509Certificate(certificate).raw), key, origin: 'test' }
}

/** A logger that appends its lines. */
export function recordingLogger(lines: string[]): Logger {
  const write = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  }
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}
