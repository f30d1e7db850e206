import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request } from 'node:https'
import type { TLSSocket } from 'node:tls'

import type { ControllerContext, Credential, ProxyRef } from '@osm-ts/driver-api'
import { canonicalJson, type PartHash, partRefs, type PolicyUpdate } from '@osm-ts/driver-api/policy'
import { DocumentTracker, followPolicies, PartStore, Wake } from '@osm-ts/driver-api/toolkit'

import { documentStandIn, type OfferedDocument, type RefusedDocument } from '../src/conformance/document-stand-in.js'

/** What a driver that is tried may get wrong about policies. */
export interface DocumentFaults {
  readonly reportsBeforehand?: boolean
  readonly callsRefusedApplied?: boolean
  readonly offersOnce?: boolean
  readonly numbersDocuments?: boolean
  readonly dependsOnOrder?: boolean
  readonly writesToPolicies?: boolean
  readonly breaksOn?: string
  readonly ignoresEvictions?: boolean
  readonly servesStrangers?: boolean
  readonly keepsFirstIdentity?: boolean
  readonly asksForKeys?: boolean
  readonly remembersWhatItSent?: boolean
}

/** The name in the certificate of a peer. */
function nameOf(peer: TLSSocket): string {
  return String(peer.getPeerCertificate().subject['CN'])
}

/** What a driver makes up that does not ask the host. */
function madeUp(peer: TLSSocket): ProxyRef {
  const [uuid, , account = '', namespace = ''] = nameOf(peer).split('.')
  return { uuid, session: 'made up', identity: `${account}.${namespace}` } as ProxyRef // as wrong as it is
}

/** Documents of policies, and who gets them: `GET /document?has=…&refused=…&words=…`, answered when there is something new. */
export class SmallDocuments {
  readonly #context: ControllerContext
  readonly #faults: DocumentFaults
  readonly #parts: PartStore
  readonly #sessions = new Map<string, Session>()

  constructor(context: ControllerContext, faults: DocumentFaults) {
    this.#context = context
    this.#faults = faults
    this.#parts = new PartStore(context.meshCatalog.parts)
    if (faults.ignoresEvictions !== true) void this.#followEvictions()
  }

  async answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const query = new URL(incoming.url ?? '/', 'https://control.plane').searchParams
    try {
      const session = await this.#sessionOf(incoming.socket as TLSSocket)
      const document = await session.poll(query)
      response.writeHead(document === undefined ? 204 : 200).end(document)
    } catch {
      response.writeHead(403).end()
    }
  }

  async #sessionOf(peer: TLSSocket): Promise<Session> {
    const name = nameOf(peer)
    const { raw, fingerprint256 } = peer.getPeerCertificate()
    const known = this.#sessions.get(name)
    if (known?.fingerprint === fingerprint256) return known
    // Another certificate is another session: its key may be another one.
    known?.end()
    const { proxies, signal } = this.#context
    const proxy = await proxies.authenticate(raw).catch((error: unknown) => {
      if (this.#faults.servesStrangers !== true) throw error
      return madeUp(peer)
    })
    const session = new Session(proxy, fingerprint256, this.#context, this.#parts, this.#faults)
    this.#sessions.set(name, session)
    void session
      .run(signal)
      .catch((error: unknown) => this.#context.logger.error({ error: String(error) }, 'a session ends by a fault'))
      .finally(() => {
        if (this.#sessions.get(name) === session) this.#sessions.delete(name)
      })
    return session
  }

  async #followEvictions(): Promise<void> {
    const { proxies, signal } = this.#context
    for await (const { session } of proxies.evictions(signal))
      for (const [name, known] of this.#sessions)
        if (known.proxy.session === session) {
          known.end()
          this.#sessions.delete(name)
        }
  }
}

class Session {
  readonly proxy: ProxyRef
  /** Of the certificate that it began with. */
  readonly fingerprint: string
  readonly #context: ControllerContext
  readonly #parts: PartStore
  readonly #faults: DocumentFaults
  readonly #over = new AbortController()
  readonly #tracker: DocumentTracker
  readonly #wake = new Wake()
  #policy: PolicyUpdate | undefined
  #credential: Credential | undefined
  #offer: { readonly revision: string; readonly body: string; readonly step: number } | undefined
  #sent = ''

  constructor(
    proxy: ProxyRef,
    fingerprint: string,
    context: ControllerContext,
    parts: PartStore,
    faults: DocumentFaults,
  ) {
    this.proxy = proxy
    this.fingerprint = fingerprint
    this.#context = context
    this.#parts = parts
    this.#faults = faults
    this.#tracker = new DocumentTracker(proxy.session)
  }

  end(): void {
    this.#over.abort()
    this.#wake.notify()
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.end(), { once: true })
    await Promise.all([this.#followPolicy(), this.#followIdentity()])
    await this.#context.proxies.disconnected(this.proxy.session)
  }

  async poll(query: URLSearchParams): Promise<string | undefined> {
    const has = query.get('has') ?? ''
    const refused = query.get('refused')
    if (refused !== null && refused === this.#offer?.revision) this.#refuse(query.get('words') ?? '')
    for (;;) {
      if (this.#over.signal.aborted) throw new Error('the session is over')
      const offer = this.#offer
      if (offer !== undefined && has === offer.revision) this.#applied(offer.step)
      const last = this.#faults.remembersWhatItSent === true ? this.#sent : has
      if (offer !== undefined && offer.revision !== last && offer.revision !== refused) {
        this.#sent = offer.revision
        return offer.body
      }
      await this.#wake.wait(this.#over.signal)
    }
  }

  async #followPolicy(): Promise<void> {
    for await (const policy of followPolicies(
      this.#context.meshCatalog.policies,
      this.#parts,
      this.proxy,
      this.#over.signal,
    )) {
      if (this.#faults.offersOnce === true && this.#policy !== undefined) continue
      this.#policy = policy
      this.#tracker.update(policy)
      if (this.#faults.reportsBeforehand === true) this.#applied(policy.revision)
      if (this.#faults.writesToPolicies === true) Object.assign(policy.proxy, { seen: true })
      this.#compose()
    }
  }

  async #followIdentity(): Promise<void> {
    const { certManager } = this.#context
    const takes = this.#faults.asksForKeys === true ? {} : ({ key: 'proxy' } as const)
    for await (const credential of certManager.identity(this.proxy, this.#over.signal, takes)) {
      if (this.#faults.keepsFirstIdentity === true && this.#credential !== undefined) continue
      this.#credential = credential
      this.#compose()
    }
  }

  #compose(): void {
    const policy = this.#policy
    if (policy === undefined || this.#credential === undefined) return
    const config = JSON.stringify({
      parts: this.#written(policy).sort(),
      ...(this.#faults.numbersDocuments === true && { step: policy.revision }),
    })
    const { breaksOn } = this.#faults
    if (breaksOn !== undefined && config.includes(breaksOn)) throw new Error('a text that breaks it')
    const body = JSON.stringify({ config, credentials: this.#credential })
    const revision = createHash('sha256').update(body).digest('hex')
    this.#offer = {
      revision,
      body: JSON.stringify({ revision, config, credentials: this.#credential }),
      step: policy.revision,
    }
    this.#wake.notify()
  }

  /** Each part of a policy as text. */
  #written({ proxy }: PolicyUpdate): string[] {
    const write = this.#faults.dependsOnOrder === true ? JSON.stringify : canonicalJson
    const texts = [write(proxy)]
    const waiting = [...partRefs(proxy)]
    const seen = new Set<PartHash>()
    for (let hash = waiting.pop(); hash !== undefined; hash = waiting.pop()) {
      if (seen.has(hash)) continue
      seen.add(hash)
      const part = this.#parts.get(hash)
      texts.push(write(part))
      waiting.push(...partRefs(part))
    }
    return texts
  }

  #applied(step: number): void {
    const report = this.#tracker.applied(step, [])
    if (report !== undefined) void this.#context.proxies.report(report)
  }

  #refuse(words: string): void {
    if (this.#faults.callsRefusedApplied === true) this.#applied(this.#offer?.step ?? 0)
    const report = this.#tracker.refused(words, this.#offer?.step)
    if (report !== undefined) void this.#context.proxies.report(report)
  }
}

/** Speaks for proxies of {@link SmallDocuments}. */
export const smallStandIn = documentStandIn(({ port, roots: ca, serverName: servername, credential }) => {
  const over = new AbortController()
  const { chain: cert, privateKey: key } = credential
  return {
    async poll(has: string, refused: RefusedDocument | undefined): Promise<OfferedDocument | undefined | 'gone'> {
      const query = new URLSearchParams({ has, ...(refused && { refused: refused.revision, words: refused.words }) })
      const path = `/document?${query.toString()}`
      const text = await new Promise<string | number>((resolve, reject) => {
        const options = { host: '127.0.0.1', port, path, servername, ca, cert, key, agent: false, signal: over.signal }
        const sent = request(options, (response) => {
          let body = ''
          response.on('data', (chunk: Buffer) => (body += chunk.toString()))
          response.once('end', () => resolve(response.statusCode === 200 ? body : (response.statusCode ?? 0)))
        })
        sent.once('error', reject)
        sent.end()
      })
      if (text === 403) return 'gone'
      if (typeof text === 'number') return undefined
      const { revision, config, credentials } = JSON.parse(text) as {
        revision: string
        config: string
        credentials: Credential
      }
      return { revision, configuration: config, credentials: credentials.chain + credentials.privateKey }
    },
    close: () => over.abort(),
  }
})
