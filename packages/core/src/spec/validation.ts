import { atOnce, type Steps } from '../async/index.js'
import type { ObjectOrigin, Problem } from '../problem.js'
import { compareProblems } from '../problem.js'
import type { Snapshot } from '../snapshot/snapshot.js'
import { objectKey, objectRef, type MeshObject, type ObjectKey } from './objects.js'
import { PatternChecker } from './pattern.js'
import type { Kind } from './schema/kinds.js'
import { checkAccess } from './validation/access.js'
import { checkAccessCert, checkGatewayCertificate, checkMeshRootCertificate } from './validation/certificates.js'
import { check, type Check, type CheckContext, type Finding } from './validation/check.js'
import { Claims } from './validation/claims.js'
import { checkEgress, checkEgressGateway } from './validation/egress.js'
import {
  checkExtensionService,
  checkPlugin,
  checkPluginChain,
  checkPluginConfig,
  checkServiceImport,
  checkTelemetry,
} from './validation/extensions.js'
import { checkHTTPRouteGroup } from './validation/routes.js'
import { checkService } from './validation/service.js'
import { checkTrafficSplit } from './validation/traffic-split.js'
import { checkTrafficTarget } from './validation/traffic-target.js'
import { checkRetry, checkUpstreamTrafficSetting } from './validation/upstream.js'
import { checkPluginStages } from './validation/plugin-stages.js'
import { checkWorkload } from './validation/workload.js'

/** Every check of what objects mean together. What a single object may look like is the business of its schema. */
const checks: readonly Check[] = [
  check('TrafficTarget', checkTrafficTarget),
  check('HTTPRouteGroup', checkHTTPRouteGroup),
  check('TrafficSplit', checkTrafficSplit),
  check('Service', checkService),
  check('Workload', checkWorkload),
  check('Egress', checkEgress),
  check('EgressGateway', checkEgressGateway),
  check('IngressBackend', checkAccess),
  check('AccessControl', checkAccess),
  check('AccessCert', checkAccessCert),
  check('MeshConfig', (config, context) => [...checkGatewayCertificate(config, context), ...checkPluginStages(config)]),
  check('MeshRootCertificate', checkMeshRootCertificate),
  check('Retry', checkRetry),
  check('UpstreamTrafficSetting', checkUpstreamTrafficSetting),
  check('Plugin', checkPlugin),
  check('PluginChain', checkPluginChain),
  check('PluginConfig', checkPluginConfig),
  check('ServiceImport', checkServiceImport),
  check('Telemetry', checkTelemetry),
  check('ExtensionService', checkExtensionService),
]

/** Kinds that are checked. */
export const checkedKinds: readonly Kind[] = Object.freeze(checks.map(({ kind }) => kind))

/** What a validator knows besides the snapshot. */
export interface SpecRulesOptions {
  /** DNS domain of services. */
  readonly clusterDomain: string
  readonly trustDomain: string
  /** Where an object or a field of it is written down; the object's own place when absent. */
  readonly locate?: (key: ObjectKey, field: string) => ObjectOrigin | undefined
}

/** A problem of an object that is about to be written. */
export interface ReviewedProblem {
  readonly problem: Problem
  /** True: another object that comes or goes can put it right. */
  readonly pending: boolean
}

/** Checks what the objects of a snapshot mean together. */
export class SpecRules {
  readonly #options: SpecRulesOptions
  /** Looking for claims takes a walk over all objects; a snapshot never changes. */
  readonly #claims = new WeakMap<Snapshot, Claims>()
  readonly #patterns = new PatternChecker()

  constructor(options: SpecRulesOptions) {
    this.#options = options
  }

  /** All problems of a snapshot, sorted by place. */
  checkAll(snapshot: Snapshot): readonly Problem[] {
    return atOnce(this.checkInSteps(snapshot))
  }

  /** The same, an object in each step. */
  *checkInSteps(snapshot: Snapshot): Steps<readonly Problem[]> {
    const context = this.#context(snapshot)
    const problems: Problem[] = []
    for (const { kind, run } of checks)
      for (const object of snapshot.list(kind)) {
        for (const finding of run(object, context)) problems.push(this.#problem(object, finding))
        yield
      }
    return problems.sort(compareProblems)
  }

  /** Problems of one object beside the others; the object need not be in the snapshot yet. */
  check(object: MeshObject, snapshot: Snapshot): readonly Problem[] {
    return this.review(object, snapshot)
      .map(({ problem }) => problem)
      .sort(compareProblems)
  }

  /** The same for an object that is about to be written: tells what it has to be refused for from what others may still put right. */
  review(object: MeshObject, snapshot: Snapshot): readonly ReviewedProblem[] {
    const context = this.#context(snapshot)
    const found = checks.filter(({ kind }) => kind === object.kind).flatMap(({ run }) => run(object, context))
    return found.map((finding) => ({ problem: this.#problem(object, finding), pending: finding.pending === true }))
  }

  #context(snapshot: Snapshot): CheckContext {
    const { clusterDomain, trustDomain } = this.#options
    let claims = this.#claims.get(snapshot)
    if (claims === undefined) {
      claims = new Claims(snapshot, clusterDomain)
      this.#claims.set(snapshot, claims)
    }
    return { snapshot, clusterDomain, trustDomain, patterns: this.#patterns, claims }
  }

  #problem(object: MeshObject, { code, severity, message, field }: Finding): Problem {
    const origin = this.#options.locate?.(objectKey(object), field) ?? object.origin
    return { code, severity, message, object: objectRef(object), origin, field }
  }
}
