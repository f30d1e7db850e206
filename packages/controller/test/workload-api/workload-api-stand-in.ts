import { rm } from 'node:fs/promises'

import { MemoryCaStore, issueLeaf, systemClock, TresorProvider } from '@osm-ts/core'
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
  status,
} from '@grpc/grpc-js'
import { X509Certificate } from 'node:crypto'

import { decodeRequest, encodeBundles, encodeSecrets, nonceOf, type SecretRequest, type TlsSecret } from './wire.js'

type BundleCall = ServerWritableStream<Buffer, Buffer>
type SecretCall = ServerDuplexStream<SecretRequest, Buffer>

const VALIDITY_MS = 3_600_000

/** An identity that the agent may give out. */
export interface Registration {
  readonly spiffeId: string
  /** As the `-dns` options of an entry; the first is the common name. */
  readonly dnsNames: readonly string[]
}

interface Subscription {
  readonly call: SecretCall
  names: readonly string[]
  sentFor: string
  /** Responses that the Envoy has neither acknowledged nor refused: by nonce, what to call when it has. */
  readonly unanswered: Map<string, () => void>
}

/**
 * An agent of SPIRE as far as sidecars and the control plane use one: SDS and the bundles of the Workload API at a Unix socket. It is as strict as SPIRE: a call without
 * the security header, and a name that no registration has, end the stream.
 */
export class WorkloadApiStandIn {
  readonly socketPath: string
  /** Entries, by the name under which they are asked for. */
  readonly entries = new Map<string, Registration>()
  /** Trust domain of the bundle. */
  trustDomain: string
  /** What Envoys have refused. */
  readonly refusals: string[] = []
  /** Names that were asked for and have no entry. */
  readonly denied: string[] = []
  /** DER that is given out in place of the roots. */
  bundle: Buffer | undefined
  #roots: readonly TresorProvider[]
  #signing: TresorProvider
  #server: Server | undefined
  #version = 0
  readonly #bundleCalls = new Set<BundleCall>()
  readonly #subscriptions = new Set<Subscription>()

  private constructor(socketPath: string, trustDomain: string, root: TresorProvider) {
    this.socketPath = socketPath
    this.trustDomain = trustDomain
    this.#roots = [root]
    this.#signing = root
  }

  /** An agent that does not listen yet. */
  static async make(socketPath: string, trustDomain = 'cluster.local'): Promise<WorkloadApiStandIn> {
    return new WorkloadApiStandIn(socketPath, trustDomain, await newRoot())
  }

  /** PEM of the roots in the bundle, the oldest first. */
  get roots(): readonly string[] {
    return this.#roots.map((root) => root.rootCertificate('workload').chain)
  }

  register(...entries: readonly Registration[]): void {
    for (const entry of entries) this.entries.set(entry.spiffeId, entry)
  }

  async start(): Promise<void> {
    await rm(this.socketPath, { force: true })
    const server = new Server()
    const passThrough = { requestSerialize: same, responseSerialize: same, responseDeserialize: same }
    server.addService(
      {
        FetchX509Bundles: {
          path: '/SpiffeWorkloadAPI/FetchX509Bundles',
          requestStream: false,
          responseStream: true,
          requestDeserialize: same,
          ...passThrough,
        },
        StreamSecrets: {
          path: '/envoy.service.secret.v3.SecretDiscoveryService/StreamSecrets',
          requestStream: true,
          responseStream: true,
          ...passThrough,
          requestDeserialize: decodeRequest,
          requestSerialize: () => Buffer.alloc(0),
        },
      },
      {
        FetchX509Bundles: (call: BundleCall) => this.#bundles(call),
        StreamSecrets: (call: SecretCall) => this.#secrets(call),
      },
    )
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix:${this.socketPath}`, ServerCredentials.createInsecure(), (error) =>
        error === null ? resolve() : reject(error),
      )
    })
    this.#server = server
  }

  /** Ends as an agent that is killed. */
  async stop(): Promise<void> {
    this.#server?.forceShutdown()
    this.#server = undefined
    this.#bundleCalls.clear()
    for (const subscription of this.#subscriptions) forget(subscription)
    this.#subscriptions.clear()
    await rm(this.socketPath, { force: true })
  }

  /** Frees what the roots hold. */
  async close(): Promise<void> {
    await this.stop()
    for (const root of this.#roots) root.close()
  }

  /** A next root is in the bundle, and does not sign. */
  async prepareRoot(): Promise<void> {
    this.#roots = [...this.#roots, await newRoot()]
    this.tellBundles()
  }

  /** The newest root signs, and all certificates are replaced. */
  async activateRoot(): Promise<void> {
    this.#signing = this.#roots.at(-1) ?? this.#signing
    await this.tellSecrets()
  }

  /** Roots that do not sign are no longer in the bundle. */
  dropFormerRoots(): void {
    for (const root of this.#roots) if (root !== this.#signing) root.close()
    this.#roots = [this.#signing]
    this.tellBundles()
  }

  /** Sends the bundle again. */
  tellBundles(): void {
    const message = encodeBundles(new Map([[`spiffe://${this.trustDomain}`, this.bundle ?? derOf(this.roots)]]))
    for (const call of this.#bundleCalls) call.write(message)
  }

  /** Makes all certificates again, sends them, and waits until each Envoy has acknowledged or refused them. */
  async tellSecrets(): Promise<void> {
    const answers: Promise<void>[] = []
    for (const subscription of this.#subscriptions) {
      if (subscription.names.length === 0) continue
      const nonce = await this.#give(subscription)
      if (nonce !== undefined)
        answers.push(new Promise((resolve) => subscription.unanswered.set(nonce, () => resolve())))
    }
    await Promise.all(answers)
  }

  #bundles(call: BundleCall): void {
    if (!hasHeader(call.metadata)) {
      call.emit('error', { code: status.INVALID_ARGUMENT, details: 'security header missing from request' })
      return
    }
    this.#bundleCalls.add(call)
    call.on('cancelled', () => this.#bundleCalls.delete(call))
    this.tellBundles()
  }

  #secrets(call: SecretCall): void {
    const subscription: Subscription = { call, names: [], sentFor: '', unanswered: new Map() }
    this.#subscriptions.add(subscription)
    const ended = (): void => {
      this.#subscriptions.delete(subscription)
      forget(subscription)
    }
    call.on('cancelled', ended)
    call.on('error', ended)
    call.on('end', () => {
      ended()
      call.end()
    })
    call.on('data', ({ names, nonce, refusal }: SecretRequest) => {
      if (refusal !== undefined) this.refusals.push(refusal)
      subscription.unanswered.get(nonce)?.()
      subscription.unanswered.delete(nonce)
      subscription.names = names
      if (names.join() !== subscription.sentFor) void this.#give(subscription)
    })
  }

  /** Returns the nonce of the response, or nothing if none was sent. */
  async #give(subscription: Subscription): Promise<string | undefined> {
    const { call, names } = subscription
    subscription.sentFor = names.join()
    const missing = names.filter((name) => !this.entries.has(name))
    if (missing.length > 0) {
      this.denied.push(...missing)
      const details = `workload is not authorized for the requested identities ${JSON.stringify(missing)}`
      call.emit('error', { code: status.INVALID_ARGUMENT, details })
      return undefined
    }
    const secrets: TlsSecret[] = []
    for (const name of names) {
      const entry = this.entries.get(name)
      if (entry !== undefined) secrets.push({ name, ...(await this.#issue(entry)) })
    }
    this.#version += 1
    if (!this.#subscriptions.has(subscription)) return undefined
    const version = String(this.#version)
    call.write(encodeSecrets(secrets, version))
    return nonceOf(version)
  }

  async #issue({ spiffeId, dnsNames }: Registration): Promise<Omit<TlsSecret, 'name'>> {
    const names = {
      kind: 'service',
      commonName: dnsNames[0] ?? '',
      dnsNames,
      uris: [spiffeId],
      ipAddresses: [],
    } as const
    const leaf = await issueLeaf(
      this.#signing,
      { ...names, validityMs: VALIDITY_MS, key: { algorithm: 'ECDSA' } },
      AbortSignal.timeout(10_000),
    )
    return { chain: leaf.chain, privateKey: leaf.privateKey() }
  }
}

/** Expects no more answers. */
function forget({ unanswered }: Subscription): void {
  for (const answered of unanswered.values()) answered()
  unanswered.clear()
}

function newRoot(): Promise<TresorProvider> {
  return TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey: { algorithm: 'ECDSA' } })
}

function derOf(roots: readonly string[]): Buffer {
  return Buffer.concat(roots.map((pem) => new X509Certificate(pem).raw))
}

function hasHeader(metadata: Metadata): boolean {
  return metadata.get('workload.spiffe.io')[0] === 'true'
}

function same(bytes: Buffer): Buffer {
  return bytes
}
