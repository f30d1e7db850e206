import type { MeshService } from '@osm-ts/driver-api'

import type { PolicyComputation } from '../policy-computation.js'
import { decisionContext, type DecisionOptions } from '../views/decision-context.js'
import type { AccessDecision, AccessQuestion } from './access-decision.js'
import type { BoundaryDecision } from './boundary.js'
import { BoundaryDecisions, type IngressQuestion } from './boundary-decisions.js'
import type { EgressQuestion } from './decide-egress.js'
import { decide } from './decide.js'

/** Who may call whom, by the policies that were computed last. */
export class PolicyDecisions {
  readonly #computation: PolicyComputation
  readonly #options: DecisionOptions

  constructor(computation: PolicyComputation, options: DecisionOptions) {
    this.#computation = computation
    this.#options = options
  }

  /** May this caller make this request, and which rule decides? */
  access(question: AccessQuestion): AccessDecision {
    return decide(decisionContext(this.#computation, this.#options), question)
  }

  /** May this workload reach that destination outside the mesh? Decided by the policy of its sidecar. */
  egress(question: EgressQuestion): BoundaryDecision {
    return this.#boundary().egress(question)
  }

  /** May this caller from outside reach that service? Decided by the policies of the sidecars behind the service. */
  ingress(question: IngressQuestion): BoundaryDecision {
    return this.#boundary().ingress(question)
  }

  /** The service that a host name stands for where callers of the namespace request it; undefined for hosts outside the mesh. */
  serviceCalled(host: string, namespace: string): MeshService | undefined {
    return this.#boundary().serviceCalled(host, namespace)
  }

  /** False for Services outside the mesh, which have no workload of the mesh. Egress rules decide who reaches them. */
  serves(service: MeshService): boolean {
    return decisionContext(this.#computation, this.#options).isServed(service)
  }

  #boundary(): BoundaryDecisions {
    return new BoundaryDecisions(this.#computation, decisionContext(this.#computation, this.#options))
  }
}
