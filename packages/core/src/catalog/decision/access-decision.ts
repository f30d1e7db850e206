import type { MeshService, ServiceAccountRef } from '@osm-ts/driver-api'

import type { TrustDomain } from '../../identity/index.js'
import type { ObjectOrigin, ObjectRef } from '../../problem.js'
import type { Snapshot } from '../../snapshot/index.js'
import type { ObjectKey } from '../../spec/index.js'
import type { PolicyComputation } from '../policy-computation.js'
import type { EscapedSlashes } from './request-path.js'

/** May this caller make this request? */
export interface AccessQuestion {
  readonly from: ServiceAccountRef
  readonly to: MeshService
  /** Port of the service; its lowest when absent. */
  readonly port?: number
  /** Of no account on ports that do not speak HTTP, like path and headers. */
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Server name that TLS asks for. Of account only on ports with TLSRoutes. */
  readonly serverName?: string
}

/** The rule that lets a request in. */
export interface DecidingRule {
  readonly object: ObjectRef
  readonly origin: ObjectOrigin
  /** Path of the rule inside the object. */
  readonly field: string
  /** Name of the match that the request meets; absent for rules without matches. */
  readonly match?: string
}

/** The answer for the workloads of one account behind one service. */
export interface AccountDecision {
  readonly service: MeshService
  readonly account: ServiceAccountRef
  readonly allowed: boolean
  /** True: no sidecar is in front of these workloads, and the mesh speaks no plaintext to them. Nothing arrives that a rule could be about. */
  readonly unreachable?: true
  /** True: these workloads have no sidecar and are spoken to in plaintext, so that no one there decides anything. */
  readonly plaintext?: true
  readonly rule?: DecidingRule
  /** Why; for a denial what comes nearest to allowing the request, most relevant first. */
  readonly reasons: readonly string[]
}

/** What the sidecar of a caller answers without asking anyone: an HTTPRoute says so, or has no rule for the request. */
export interface CallerAnswer {
  /** Status of the answer to requests; connections are closed. */
  readonly status: number | 'closed'
  /** Why. */
  readonly reason: string
}

/** The answer. */
export interface AccessDecision {
  /** True: wherever the request ends up it is let in. */
  readonly allowed: boolean
  /** Rule that lets it in, when all workloads let it in. */
  readonly rule?: DecidingRule
  /** In one sentence. */
  readonly reason: string
  /** One answer for each service and account that the request may end up at. */
  readonly decisions: readonly AccountDecision[]
  /** Present: requests are not all sent on. Without decisions all of them are answered so, else a share. */
  readonly answer?: CallerAnswer
}

/** What decisions are made with. */
export interface DecisionContext {
  readonly computation: PolicyComputation
  /** Objects that the mesh acts on. */
  readonly snapshot: Snapshot
  readonly trustDomain: TrustDomain
  /** What served ports do with paths that hold escaped slashes. */
  readonly escapedSlashes: EscapedSlashes
  /** Accounts that run the workloads of a service. */
  readonly accountsOf: (service: MeshService) => readonly ServiceAccountRef[]
  /** Accounts behind a service whose workloads all lack a sidecar, as far as anyone knows them. */
  readonly withoutSidecar: (service: MeshService) => readonly ServiceAccountRef[]
  /** True if the mesh speaks plaintext to workloads of a namespace that have no sidecar. */
  readonly allowsPlaintext: (namespace: string) => boolean
  /** False for Services outside the mesh, which Egress rules are about. */
  readonly isServed: (service: MeshService) => boolean
  /** True if a namespace takes part in the mesh. */
  readonly isMember: (namespace: string) => boolean
  /** False for accounts that can have no certificate. */
  readonly isUsable: (account: ServiceAccountRef) => boolean
  /** Where an object or a field of it is written down. */
  readonly locate: (key: ObjectKey, field: string) => ObjectOrigin | undefined
}
