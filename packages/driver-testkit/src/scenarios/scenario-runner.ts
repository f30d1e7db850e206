import type { RequiredFeature } from '@osm-ts/driver-api/host'

import type { Call, CallAnswer, Target } from '../actor/protocol.js'
import type { Scenario, ScenarioClient, ScenarioMode, ScenarioStep } from './format.js'
import type { Routes } from './make-call.js'

/** Something that the mesh says is wrong, as far as scenarios read it. */
export interface ReportedProblem {
  readonly code: string
  readonly message: string
  readonly object?: { readonly kind: string; readonly namespace?: string; readonly name: string }
  readonly field?: string
}

/** Where scenarios run, one at a time: it makes a mesh of their actors, and lets those call. */
export interface ScenarioRunner {
  readonly mode: ScenarioMode
  /** True for what its sidecars do not declare. */
  lacks(feature: RequiredFeature): boolean
  /** Bound of one change and its expectations. */
  readonly timeLimitMs: number
  /**
   * Puts the scenario into the place of the one before, and waits until its workloads run and every sidecar has its policy.
   *
   * @param upcoming - scenarios that come after it: what they have as well may continue running
   */
  begin(scenario: Scenario, upcoming: readonly Scenario[]): Promise<void>
  /** Makes the changes of a step, and waits until the mesh has read them and every sidecar has what follows. */
  change(step: ScenarioStep): Promise<void>
  /** Does what belongs to a test, and adds to its failure what helps to find the cause. */
  observed(what: string, work: () => Promise<void>): Promise<void>
  /** Clears away what a scenario has left that failed: it may be in any state. */
  reset(): Promise<void>
  /** Ends everything. */
  stop(): Promise<void>
  /** Puts addresses and ports into the place of `{{…}}`, in every text. */
  fill<T>(value: T): Promise<T>
  /** Routes of a workload, or of one instance of it. */
  routes(workload: string): Promise<Routes>
  /** Has a workload, or one instance of it, make a call. */
  call(workload: string, call: Call): Promise<CallAnswer>
  /** A client outside the mesh. Throws if the scenario has none of that name. */
  client(name: string): ScenarioClient
  /** Makes a call from outside the mesh. */
  callFromOutside(call: Call): Promise<CallAnswer>
  /** Where the sidecar of a workload accepts connections for a port. */
  inbound(workload: string, port: string): Promise<Target>
  /** Where the sidecar of a workload tells its statistics, as the workload reaches it. */
  admin(workload: string): Target
  /** Issues a certificate by the authority of workloads. */
  issue(names: {
    readonly commonName: string
    readonly dnsNames: readonly string[]
  }): Promise<{ readonly chain: string; readonly privateKey: string }>
  problems(): Promise<readonly ReportedProblem[]>
}
