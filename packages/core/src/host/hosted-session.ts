import type { ApplyReport } from '@osm-ts/driver-api'
import type { PartHash, ProxyPart } from '@osm-ts/driver-api/policy'

import type { PolicyPart } from '../catalog/policy/parts/policy-part.js'
import type { PolicyStream } from './policy-stream.js'
import type { PushLog, SessionPushes } from './push-log.js'
import type { ConnectedState } from './push-metrics.js'

/** Names of sessions whose proxies refuse something, and of those whose proxies have not acknowledged everything yet. */
export type UnsettledSessions = Readonly<Record<'rejected' | 'unknown', Set<string>>>

/** A session of a proxy: its policy stream, and what is measured of it. */
export class HostedSession {
  readonly stream: PolicyStream
  /** True if its driver follows endpoints apart from policies. */
  readonly followsEndpoints: boolean
  readonly #log: PushLog
  readonly #class: string
  readonly #pushes: SessionPushes
  readonly #session: string
  readonly #unsettled: UnsettledSessions
  #state: ConnectedState | undefined

  /** @param unsettled - kept up to date */
  constructor(
    log: PushLog,
    proxyClass: string,
    followsEndpoints: boolean,
    session: string,
    unsettled: UnsettledSessions,
    makeStream: (pushes: SessionPushes) => PolicyStream,
  ) {
    this.followsEndpoints = followsEndpoints
    this.#log = log
    this.#class = proxyClass
    this.#session = session
    this.#unsettled = unsettled
    this.#pushes = log.follow(proxyClass)
    this.stream = makeStream(this.#pushes)
    this.#move(this.stream.state)
  }

  /** Sets the policy that the proxy begins with. */
  want(policy: PolicyPart<ProxyPart>): void {
    this.stream.want(policy)
    this.#move(this.stream.state)
  }

  /** Sets the policy that a change has led to. */
  offer(policy: PolicyPart<ProxyPart>): void {
    this.#pushes.offered()
    this.want(policy)
  }

  /** A change has led to other endpoints. */
  offerEndpoints(generation: number, parts: Iterable<PartHash>): void {
    this.#pushes.offeredEndpoints(generation)
    this.stream.wantEndpoints(generation, parts)
    this.#move(this.stream.state)
  }

  /** The policy names none of the parts any more of which endpoints are awaited. */
  forgetEndpoints(): void {
    this.#pushes.forgottenEndpoints()
    this.stream.forgetEndpoints()
    this.#move(this.stream.state)
  }

  /** @param now - milliseconds since 1970 */
  report(report: ApplyReport, now: number): void {
    this.stream.report(report, now)
    this.#pushes.reported(report)
    this.#move(this.stream.state)
  }

  close(): void {
    this.stream.close()
    this.#pushes.close()
    this.#move(undefined)
  }

  #move(state: ConnectedState | undefined): void {
    if (state === this.#state) return
    this.#log.metrics.moved(this.#class, this.#state, state)
    this.#state = state
    for (const each of ['rejected', 'unknown'] as const) {
      if (state === each) this.#unsettled[each].add(this.#session)
      else this.#unsettled[each].delete(this.#session)
    }
  }
}
