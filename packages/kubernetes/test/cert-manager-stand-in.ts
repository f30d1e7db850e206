import {
  createInformer,
  type Informer,
  type KubernetesApi,
  type KubernetesObject,
  resourceTypes,
} from '../src/index.js'
import { systemClock } from '@osm-ts/core'

import { OpensslAuthority } from '../../core/test/certificates/openssl-authority.js'
import { MemoryLogger } from './memory-logger.js'

/** A condition of a CertificateRequest. */
export interface StandInCondition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

const SPEC_FIELDS = ['duration', 'isCA', 'issuerRef', 'request', 'usages']
const USAGES = ['client auth', 'digital signature', 'key encipherment', 'server auth']
const type = resourceTypes.CertificateRequest

/**
 * The controllers of cert-manager as its documentation describes them: one approves, one signs with an intermediate of OpenSSL. It is strict: a request that holds
 * something else than the documentation has is invalid.
 */
export class CertManagerStandIn {
  readonly #api: KubernetesApi
  readonly #closing = new AbortController()
  readonly #informer: Informer<KubernetesObject>
  readonly #working = new Set<Promise<void>>()
  readonly authority: OpensslAuthority
  /** Every request that was seen. */
  readonly requests: KubernetesObject[] = []
  issuer = { name: 'osm-ca', kind: 'Issuer', group: 'cert-manager.io' }
  /** What an approver does: nothing where it is undefined. */
  approval: StandInCondition | undefined = APPROVED
  /** Instead of a signature. */
  outcome: StandInCondition | undefined
  /** What is signed instead of the request. */
  changed: (csr: string) => string = (csr) => csr
  maxMs = Number.POSITIVE_INFINITY
  /** What the answer says of the root. */
  ca: (chain: string) => string = (chain) => chain

  private constructor(api: KubernetesApi, authority: OpensslAuthority) {
    this.#api = api
    this.authority = authority
    this.#informer = createInformer({
      api,
      type,
      project: (object) => object,
      clock: systemClock,
      random: Math.random,
      logger: new MemoryLogger(),
    })
  }

  static async start(api: KubernetesApi): Promise<CertManagerStandIn> {
    const standIn = new CertManagerStandIn(api, await OpensslAuthority.start())
    await standIn.#informer.start(standIn.#closing.signal)
    standIn.#informer.subscribe((changes) => {
      for (const { before, after } of changes) if (before === undefined && after !== undefined) standIn.#take(after)
    })
    return standIn
  }

  /** Approves or denies what waits. */
  async decide(condition: StandInCondition): Promise<void> {
    this.approval = condition
    for (const object of this.#informer.list()) await this.#work(object)
  }

  async stop(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#working)
    await this.authority.stop()
  }

  #take(object: KubernetesObject): void {
    this.requests.push(object)
    const work = this.#work(object).finally(() => this.#working.delete(work))
    this.#working.add(work)
  }

  async #work(object: KubernetesObject): Promise<void> {
    const spec = object.spec as Readonly<Record<string, unknown>> // what is strange about it is told below
    if (this.approval === undefined) return
    const conditions = [this.approval]
    const invalid = this.#faultOf(spec)
    if (invalid !== undefined) conditions.push({ type: 'InvalidRequest', status: 'True', ...invalid })
    await this.#write(object, { conditions })
    const { name, kind, group } = spec.issuerRef as typeof this.issuer // checked above
    const isOurs = name === this.issuer.name && kind === this.issuer.kind && group === this.issuer.group
    if (this.approval.type !== 'Approved' || invalid !== undefined) return
    if (!isOurs) {
      const ready = { type: 'Ready', status: 'False', reason: 'Pending', message: `Referenced "${kind}" not found` }
      await this.#write(object, { conditions: [...conditions, ready] })
      return
    }
    if (this.outcome !== undefined) {
      await this.#write(object, { conditions: [...conditions, this.outcome] })
      return
    }
    const [, seconds] = /^(\d+)s$/.exec(String(spec.duration)) ?? []
    const csr = this.changed(Buffer.from(String(spec.request), 'base64').toString())
    const chain = await this.authority.signRequest(csr, Math.min(Number(seconds) * 1000, this.maxMs))
    const [, root = ''] = (await this.authority.caCertificates()).split(/(?<=END CERTIFICATE-----\n)/)
    const ready = { type: 'Ready', status: 'True', reason: 'Issued', message: 'Certificate fetched from issuer' }
    await this.#write(object, {
      conditions: [...conditions, ready],
      certificate: base64(chain),
      ca: base64(this.ca(root)),
    })
  }

  #faultOf(spec: Readonly<Record<string, unknown>>): { readonly reason: string; readonly message: string } | undefined {
    const fields = Object.keys(spec).sort()
    const isKnown = fields.join() === SPEC_FIELDS.join()
    const usages = [...(spec.usages as readonly string[])].sort()
    if (isKnown && usages.join() === USAGES.join() && /^\d+s$/.test(String(spec.duration)) && spec.isCA === false)
      return undefined
    return { reason: 'InvalidRequest', message: `spec of ${fields.join()} is not what the documentation describes` }
  }

  async #write({ metadata }: KubernetesObject, status: unknown): Promise<void> {
    const { namespace = '', name } = metadata
    const signal = this.#closing.signal
    await this.#api
      .mergePatch(type, { namespace, name }, { status }, { signal, subresource: 'status' })
      .catch(() => undefined) // it may be deleted by then
  }
}

/** What the approver of cert-manager says of every request. */
export const APPROVED: StandInCondition = {
  type: 'Approved',
  status: 'True',
  reason: 'cert-manager.io',
  message: 'Certificate request has been approved by cert-manager.io',
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
