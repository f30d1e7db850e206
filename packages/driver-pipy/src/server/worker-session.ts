import { setMaxListeners } from 'node:events'

import type { ApplyReport, ProxyCondition, ProxyRef } from '@osm-ts/driver-api'
import type { PartLookup, PolicyUpdate } from '@osm-ts/driver-api/policy'
import {
  CredentialFollower,
  DocumentTracker,
  errorMessage,
  followPolicies,
  type NamedCredentialRef,
  shownWords,
  WorkTally,
} from '@osm-ts/driver-api/toolkit'

import type { EncodedDocument } from '../config/document.js'
import { credentialKey } from '../config/further-credentials.js'
import { Changes } from './changes.js'
import { DocumentState, type Offer } from './document-state.js'
import { DownloadTracker } from './download-tracker.js'
import { limits } from './limits.js'
import { FailingPlugins, type PluginFault } from './plugin-report.js'
import { PushClock } from './push-clock.js'
import type { AdminLink, SessionEnd, SessionPorts } from './session-ports.js'
import type { StatusReport } from './status-report.js'
import { WaitingPolls } from './waiting-polls.js'
import { type Asking, WorkerIdentity } from './worker-identity.js'
import { WorkerRegistry } from './worker-registry.js'
import { WorkerConditions } from './worker-conditions.js'
import { WorkerCredentials } from './worker-credentials.js'

/**
 * A worker, for as long as it is heard of: what it should have, what it has, and what is done if these stay apart.
 *
 * Workers speak by single requests. What makes them one session is their certificate.
 */
export class WorkerSession {
  readonly proxy: ProxyRef
  /** Hashes of the certificates that the worker has shown. */
  readonly certificates: ReadonlySet<string>
  readonly startedAt: number
  readonly downloads = new DownloadTracker()
  readonly #ports: SessionPorts
  readonly #over = new AbortController()
  readonly #identity: WorkerIdentity
  readonly #documents: DocumentState
  readonly #tracker: DocumentTracker
  readonly #workers = new WorkerRegistry(limits.silenceMs)
  readonly #pushes = new PushClock(limits.staleAfterMs, limits.maxPushIntervalMs)
  readonly #links: AdminLink[] = []
  readonly #polls = new WaitingPolls()
  readonly #work = new WorkTally()
  readonly #plugins = new FailingPlugins()
  readonly #conditions: WorkerConditions
  readonly #credentials: WorkerCredentials
  /** There may be another document. */
  readonly #changes = new Changes()
  #heardAt: number
  #end: SessionEnd | undefined
  #acknowledged: string | undefined
  #refusal: { readonly revision: string; readonly words: string } | undefined
  #overdue = false

  /** @param accepted - that of the certificates by which the host has accepted the worker */
  constructor(proxy: ProxyRef, accepted: string, certificates: ReadonlySet<string>, ports: SessionPorts) {
    this.proxy = proxy
    this.certificates = certificates
    this.#ports = ports
    this.#identity = new WorkerIdentity(proxy, ports.certificates, accepted)
    this.#documents = new DocumentState(ports.now, limits.credentialTimeoutMs)
    this.#tracker = new DocumentTracker(proxy.session)
    this.#conditions = new WorkerConditions((conditions) => this.#observe(conditions))
    this.#credentials = new WorkerCredentials(proxy, ports.logger, this.#conditions)
    this.startedAt = ports.now()
    this.#heardAt = this.startedAt
    // Every connection of the worker, and each of its polls, ends with the session.
    setMaxListeners(0, this.#over.signal)
  }

  /** Follows policy and certificate until the session ends. Never rejects. */
  async run(): Promise<void> {
    const { metrics, proxies, logger } = this.#ports
    metrics.connected()
    try {
      await Promise.all([this.#supervise(this.#followPolicy()), this.#supervise(this.#followIdentity())])
    } finally {
      metrics.disconnected()
      await proxies
        .disconnected(this.proxy.session)
        .catch((error: unknown) => logger.error({ error: String(error) }, 'host was not told of an end'))
    }
  }

  /** Why; undefined while it lasts. */
  get ended(): SessionEnd | undefined {
    return this.#end
  }

  /** Aborts when the session ends. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** Ends the session; what waits in it is answered. */
  end(reason: SessionEnd): void {
    if (this.#end !== undefined) return
    this.#end = reason
    for (const link of this.#links.splice(0)) link.close()
    this.#over.abort()
    this.#changes.announce()
  }

  /** @returns false if a worker that asks so for its configuration needs another session */
  suits(asking: Asking): boolean {
    return this.#identity.suits(asking)
  }

  /** What stands on the debug page. */
  describe(): Readonly<Record<string, unknown>> {
    const { uuid, identity, namespace, commonName } = this.proxy
    const codebase = this.#ports.codebase().etag
    return {
      uuid,
      identity,
      namespace,
      commonName,
      connectedAt: new Date(this.startedAt).toISOString(),
      heardAt: new Date(this.#heardAt).toISOString(),
      revision: this.#documents.offer?.revision ?? null,
      acknowledged: this.#acknowledged ?? null,
      refused: this.#refusal ?? null,
      codebase: { published: codebase, reported: this.downloads.reported },
      workers: this.#workers.count(this.#ports.now()),
      links: this.#links.length,
      waiting: this.#polls.size,
      conditions: this.#conditions.list,
    }
  }

  /** The document that the worker should have, without keys. Undefined while there is no policy. */
  plainDocument(): EncodedDocument | undefined {
    return this.#documents.plain()
  }

  /** The worker has reported. */
  noteStatus({ version, since }: StatusReport): void {
    const { now, codebase } = this.#ports
    this.heard()
    this.downloads.report(version, codebase(), now())
    this.#workers.report(since, now())
  }

  /** The worker has said which plugins fail. */
  notePlugins(faults: readonly PluginFault[]): void {
    const { now, metrics, logger } = this.#ports
    metrics.pluginFaults('run', this.#plugins.note(faults, now()))
    const report = this.#tracker.failed(this.#plugins.notLoaded)
    for (const { id, message = '' } of report?.parts ?? [])
      logger.warn(
        { code: 'OSM_PIPY_PLUGIN_NOT_LOADED', proxy: this.proxy.uuid, part: id, words: message },
        'worker cannot load a plugin; what would come to it is refused',
      )
    metrics.pluginFaults('load', report?.parts.length ?? 0)
    this.#tell(report)
    this.#acknowledge()
    this.#judgePlugins()
  }

  /** Something came from the worker. */
  heard(): void {
    this.#heardAt = this.#ports.now()
  }

  addLink(link: AdminLink): void {
    this.#links.push(link)
    if (this.#links.length > limits.maxLinksOfWorker) this.#links.shift()?.close()
  }

  removeLink(link: AdminLink): void {
    const index = this.#links.indexOf(link)
    if (index >= 0) this.#links.splice(index, 1)
  }

  /** Polls that wait. */
  get waiting(): number {
    return this.#polls.size
  }

  /**
   * The worker has that revision, and waits for another.
   *
   * @param signal - ends the wait: the worker has gone, or has waited long enough
   * @param unusable - keys of the credentials in that revision that the worker cannot use
   * @returns what it should take; undefined if there is nothing
   */
  async poll(has: string, signal: AbortSignal, unusable: readonly string[] = []): Promise<Offer | undefined> {
    this.heard()
    if (has === this.#documents.offer?.revision) this.#credentials.note(has, unusable)
    const answered = this.#polls.add(has)
    this.#acknowledge()
    while (this.#documents.next(has) === undefined && !signal.aborted && this.#end === undefined)
      await this.#changes.next(signal)
    // It was there, however long it took.
    this.heard()
    answered()
    return this.#end === undefined ? this.#documents.next(has) : undefined
  }

  /** A document has left the process. */
  noteSent(ms: number, bytes: number): void {
    this.#work.sent(ms, bytes)
  }

  /** The worker could not apply that revision, and says why. */
  refuse(revision: string, words: string): void {
    if (!this.#documents.refuse(revision)) return
    const { logger, metrics } = this.#ports
    this.#refusal = { revision, words: shownWords(words) }
    this.#conditions.set('OSM_PIPY_CONFIG_REFUSED', `refuses configuration ${revision}: ${this.#refusal.words}`)
    metrics.refused()
    logger.warn(
      { code: 'OSM_PIPY_CONFIG_REFUSED', proxy: this.proxy.uuid, revision, words: this.#refusal.words },
      'worker refused its configuration; what it has stays in force',
    )
    this.#tell(this.#tracker.refused(words))
    this.#changes.announce()
  }

  /** Has the worker fetch its codebase and load it. */
  reload(): void {
    for (const link of this.#links) link.reload()
  }

  /** Looks whether the worker is there and has what it should have; pushes where it has not. */
  sweep(): void {
    const now = this.#ports.now()
    if (this.#polls.size > 0) this.#heardAt = now
    if (now - this.#heardAt > limits.silenceMs) {
      this.end('idle')
      return
    }
    this.#countWorkers(now)
    this.#judgePlugins()
    if (this.#documents.giveUpWaiting()) this.#changes.announce()
    const lacks = this.#lacksSince()
    for (const code of ['OSM_PIPY_DOWNLOAD_LOST', 'OSM_PIPY_NOT_ACKNOWLEDGED'] as const)
      if (lacks?.code !== code) this.#conditions.set(code, undefined)
    if (lacks === undefined || !this.#pushes.due(lacks.since, now)) return
    const { logger, metrics } = this.#ports
    metrics.overdue(lacks.what)
    logger.warn(
      { code: lacks.code, proxy: this.proxy.uuid, links: this.#links.length },
      'worker does not have what it should have; it is asked to reload everything',
    )
    this.#conditions.set(lacks.code, `lacks its ${lacks.what} since ${new Date(lacks.since).toISOString()}`)
    if (lacks.what === 'config') this.#tell(this.#tracker.unacknowledged())
    this.#overdue = true
    this.reload()
  }

  #countWorkers(now: number): void {
    const [code, count] = ['OSM_PIPY_DUPLICATE_WORKER', this.#workers.count(now)] as const
    if (!this.#conditions.set(code, count > 1 ? `${count} workers use its certificate` : undefined)) return
    this.#ports.metrics.duplicate()
    const { uuid, identity } = this.proxy
    this.#ports.logger.error({ code, proxy: uuid, identity }, 'several workers use the certificate of one proxy')
  }

  #judgePlugins(): void {
    this.#conditions.set('OSM_PIPY_PLUGIN_NOT_LOADED', this.#plugins.loadWords)
    this.#conditions.set('OSM_PIPY_PLUGIN_FAILED', this.#plugins.runWords(this.#ports.now()))
  }

  #lacksSince() {
    const download = this.downloads.incompleteSince
    if (download !== undefined) return { what: 'codebase', code: 'OSM_PIPY_DOWNLOAD_LOST', since: download } as const
    const offer = this.#documents.offer
    if (offer === undefined || this.#documents.next(this.#acknowledged ?? '') === undefined) {
      this.#pushes.reset()
      return undefined
    }
    return { what: 'config', code: 'OSM_PIPY_NOT_ACKNOWLEDGED', since: offer.at } as const
  }

  /** All workers that are connected have the present document. */
  #acknowledge(): void {
    const offer = this.#documents.offer
    if (offer === undefined) return
    const { now, metrics } = this.#ports
    if (!this.#polls.allHave(offer.revision, this.#workers.count(now()))) return
    if (this.#acknowledged !== offer.revision) metrics.acknowledged((now() - offer.at) / 1000)
    this.#acknowledged = offer.revision
    if (this.#overdue) this.#ports.logger.info({ proxy: this.proxy.uuid }, 'worker has what it should have again')
    this.#overdue = false
    this.#documents.applied()
    this.#tell(this.#tracker.applied(offer.step, this.#credentials.refusalsOf(offer)))
  }

  async #followPolicy(): Promise<void> {
    const { certificates, logger } = this.#ports
    const stop = new AbortController()
    const credentials = new CredentialFollower<NamedCredentialRef>({
      proxy: this.proxy,
      certificates,
      logger,
      onCredential: (ref, credential) => {
        this.#documents.setFurther(credentialKey(ref), credential)
        this.#acknowledge()
        this.#changes.announce()
      },
      signal: AbortSignal.any([this.#over.signal, stop.signal]),
    })
    try {
      await this.#applyPolicies(credentials)
    } finally {
      stop.abort()
      await credentials.finished()
    }
  }

  async #applyPolicies(credentials: CredentialFollower<NamedCredentialRef>): Promise<void> {
    const { policies, turns, make, parts } = this.#ports
    for await (const update of followPolicies(policies, parts, this.proxy, this.#over.signal)) {
      this.#tracker.update(update)
      const asked = performance.now()
      await turns.run(() => {
        const begun = performance.now()
        this.#work.queued(begun - asked)
        try {
          const lookup: PartLookup = (hash) => parts.get(hash)
          const document = make(update.proxy, lookup)
          const made = performance.now()
          this.#work.translated(made - begun)
          this.#documents.setDocument(document, update.revision)
          this.#work.encoded(performance.now() - made)
          this.#plugins.follow(update.proxy, lookup, document.refusals)
          this.#conditions.set('OSM_PIPY_PLUGIN_REFUSED', this.#plugins.refusedWords)
          this.#conditions.set('OSM_PIPY_TRANSLATION', undefined)
          credentials.follow(document.needs.map(({ ref }) => ref))
        } catch (error) {
          this.#fail(update, error)
        }
      })
      this.#refusal = undefined
      this.#conditions.set('OSM_PIPY_CONFIG_REFUSED', undefined)
      this.#acknowledge()
      this.#changes.announce()
    }
  }

  #fail({ revision }: PolicyUpdate, error: unknown): void {
    const { logger, metrics } = this.#ports
    metrics.failed()
    const words = errorMessage(error)
    logger.error(
      { code: 'OSM_PIPY_TRANSLATION', proxy: this.proxy.uuid, revision, error: shownWords(words) },
      'policy cannot be translated; the last good configuration stays in force',
    )
    this.#conditions.set('OSM_PIPY_TRANSLATION', shownWords(words))
    this.#tell(this.#tracker.refused(words))
  }

  async #followIdentity(): Promise<void> {
    for await (const credential of this.#identity.follow(this.#over.signal)) {
      this.#documents.setCredential(credential)
      this.#acknowledge()
      this.#changes.announce()
    }
  }

  /** A stream that ends while the session lasts would leave the worker with what it has forever: it returns to a new session. */
  async #supervise(task: Promise<void>): Promise<void> {
    try {
      await task
      this.end('rebalance')
    } catch (error) {
      if (this.#end !== undefined) return
      this.#ports.logger.error(
        { proxy: this.proxy.uuid, error: String(error) },
        'session of a worker ends by a fault of the repo server',
      )
      this.end('fault')
    }
  }

  #tell(report: ApplyReport | undefined): void {
    if (report === undefined || this.#end !== undefined) return
    const { proxies, logger } = this.#ports
    proxies
      .report(this.#work.on(report))
      .catch((error: unknown) => logger.error({ error: String(error) }, 'host was not told of a state'))
  }

  #observe(conditions: readonly ProxyCondition[]): void {
    if (this.#end !== undefined) return
    const { proxies, logger } = this.#ports
    proxies
      .observe({ session: this.proxy.session, conditions })
      .catch((error: unknown) => logger.error({ error: String(error) }, 'host was not told of conditions'))
  }
}
