import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import { nameKey } from '../namespaced-name.js'
import type { Problem } from '../problem.js'
import type { Answer, Endpoint, EndpointsAnnouncement, EndpointsProvider } from './endpoint.js'
import type { EndpointsErrorCode } from './error-codes.js'

/** Answers that are remembered for each kind of question, the ones asked for last. */
const rememberedAnswers = 20_000

/**
 * Puts a memory in front of a provider that can fail.
 *
 * A question that throws, or is answered `unknown`, gets the last good answer to the same question, marked as stale.
 */
export class LastGoodEndpointsProvider implements EndpointsProvider {
  readonly id: string
  readonly #inner: EndpointsProvider
  readonly #endpoints = new Memory<Endpoint>()
  readonly #identities = new Memory<ServiceAccountRef>()
  readonly #services = new Memory<MeshService>()
  readonly #ofIdentity = new Memory<Endpoint>()

  constructor(inner: EndpointsProvider) {
    this.id = inner.id
    this.#inner = inner
  }

  listEndpointsForService(service: MeshService): Answer<Endpoint> {
    return this.#endpoints.ask(this.id, service, () => this.#inner.listEndpointsForService(service))
  }

  listIdentitiesForService(service: MeshService): Answer<ServiceAccountRef> {
    return this.#identities.ask(this.id, service, () => this.#inner.listIdentitiesForService(service))
  }

  listServicesForIdentity(account: ServiceAccountRef): Answer<MeshService> {
    return this.#services.ask(this.id, account, () => this.#inner.listServicesForIdentity(account))
  }

  listEndpointsForIdentity(account: ServiceAccountRef): Answer<Endpoint> {
    return this.#ofIdentity.ask(this.id, account, () => this.#inner.listEndpointsForIdentity(account))
  }

  announcements(listener: (announcement: EndpointsAnnouncement) => void): () => void {
    return this.#inner.announcements(listener)
  }
}

/** Good answers to one kind of question. */
class Memory<T> {
  readonly #answers = new Map<string, readonly T[]>()

  ask(provider: string, service: MeshService, question: () => Answer<T>): Answer<T> {
    const key = nameKey(service)
    const { answer, reason } = attempt(question)
    if (answer?.state === 'known') {
      this.#remember(key, answer.items)
      return answer
    }
    if (answer?.state === 'stale') return answer
    const remembered = this.#answers.get(key)
    const conditions = answer?.conditions ?? [condition(provider, reason, remembered !== undefined)]
    return remembered === undefined
      ? { state: 'unknown', items: [], conditions }
      : { state: 'stale', items: remembered, conditions }
  }

  #remember(key: string, items: readonly T[]): void {
    // Deleting first moves the key to the end, so that the first key is the one asked for longest ago.
    this.#answers.delete(key)
    this.#answers.set(key, items)
    if (this.#answers.size <= rememberedAnswers) return
    for (const oldest of this.#answers.keys()) {
      this.#answers.delete(oldest)
      return
    }
  }
}

function attempt<T>(question: () => Answer<T>): { readonly answer: Answer<T> | undefined; readonly reason: string } {
  try {
    return { answer: question(), reason: '' }
  } catch (error) {
    return { answer: undefined, reason: error instanceof Error ? error.message : String(error) }
  }
}

function condition(provider: string, reason: string, hasLastGood: boolean): Problem {
  const code: EndpointsErrorCode = hasLastGood ? 'OSM_ENDPOINTS_PROVIDER_FAILED' : 'OSM_ENDPOINTS_UNKNOWN'
  const consequence = hasLastGood ? 'its last good answer stays in force' : 'nothing is known of its endpoints yet'
  return { code, severity: 'warning', message: `endpoints provider ${provider} fails: ${reason}; ${consequence}` }
}
