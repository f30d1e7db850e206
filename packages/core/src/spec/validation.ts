import { atOnce, type Steps } from '../async/index.js'
import { type ObjectOrigin, type Problem, compareProblems } from '../problem.js'
import type { Snapshot } from '../snapshot/snapshot.js'
import {
  addExpressions,
  exceeded,
  expressionKinds,
  expressionsOf,
  type ExpressionSums,
  namespaceExpressionBounds,
  sumExpressionsInSteps,
} from './expressions.js'
import { isPermitted, type ConsentRule, type CrossNamespaceConfig, type CrossReference } from './reference-grant.js'
import { objectKey, objectRef, type MeshObject, type ObjectKey } from './objects.js'
import { PatternChecker } from './pattern.js'
import type { Kind } from './schema/kinds.js'
import { SuggestionBudget } from './suggest.js'
import { checkAccess } from './validation/access.js'
import { checkAccessCert, checkGatewayCertificate, checkMeshRootCertificate } from './validation/certificates.js'
import { check, doubt, fault, type Check, type CheckContext, type Finding, findings } from './validation/check.js'
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
import { checkExternalWorkload } from './validation/external-workload.js'
import { changedReads, RecordedSnapshot, type Reads } from './validation/recorded-reads.js'
import { checkReferenceGrant } from './validation/reference-grant.js'
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
  check('ExternalWorkload', checkExternalWorkload),
  check('Egress', checkEgress),
  check('EgressGateway', (object, context) => [
    ...checkUnreadMatches(object.spec.matches),
    ...checkEgressGateway(object, context),
  ]),
  check('IngressBackend', checkAccess),
  check('AccessControl', checkAccess),
  check('AccessCert', (object, context) => [
    ...checkUnreadMatches(object.spec.matches),
    ...checkAccessCert(object, context),
  ]),
  check('MeshConfig', (config, context) => [...checkGatewayCertificate(config, context), ...checkPluginStages(config)]),
  check('MeshRootCertificate', checkMeshRootCertificate),
  check('Retry', checkRetry),
  check('UpstreamTrafficSetting', checkUpstreamTrafficSetting),
  check('Plugin', (object) => [...checkUnreadMatches(object.spec.matches), ...checkPlugin(object)]),
  check('PluginChain', (object, context) => [
    ...checkUnreadMatches(object.spec.matches),
    ...checkPluginChain(object, context),
  ]),
  check('PluginConfig', (object, context) => [
    ...checkUnreadMatches(object.spec.matches),
    ...checkPluginConfig(object, context),
  ]),
  check('ReferenceGrant', checkReferenceGrant),
  check('GatewayReferenceGrant', checkReferenceGrant),
  check('ServiceImport', checkServiceImport),
  check('Telemetry', checkTelemetry),
  check('ExtensionService', checkExtensionService),
]

/** Kinds that are checked. */
export const checkedKinds: readonly Kind[] = Object.freeze(checks.map(({ kind }) => kind))

/** Findings of one object that are listed; it may have as many as it has fields. */
const maxFindings = 50

/** What a validator knows besides the snapshot. */
export interface SpecRulesOptions {
  /** DNS domain of services. */
  readonly clusterDomain: string
  readonly trustDomain: string
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** Kinds whose objects act on other namespaces without the consent of those; requested at each check. */
  readonly crossNamespace: () => CrossNamespaceConfig
  /** Names of the certificate of the ingress gateway; requested at each check. */
  readonly gatewayNames: () => readonly string[]
  /** True: a MeshRootCertificate decides who issues certificates; false if absent. */
  readonly readsRootCertificates?: boolean
  /** Where an object or a field of it is written down; the object's own place when absent. */
  readonly locate?: (key: ObjectKey, field: string) => ObjectOrigin | undefined
}

/** A problem of an object that is about to be written. */
export interface ReviewedProblem {
  readonly problem: Problem
  /** True: another object that comes or goes can put it right. */
  readonly pending: boolean
}

/** What a check of all objects found, and what it read. */
interface WholeCheck {
  readonly snapshot: Snapshot
  readonly crossNamespace: CrossNamespaceConfig
  readonly gatewayNames: string
  /** By kind, in the order of the checks. */
  readonly checked: ReadonlyMap<Kind, ReadonlyMap<MeshObject, CheckedObject>>
}

/** What the check of one object has found, and what else it read for that. */
interface CheckedObject {
  readonly findings: readonly Finding[]
  readonly reads: Reads
}

/** Checks what the objects of a snapshot mean together. */
export class SpecRules {
  readonly #options: SpecRulesOptions
  /** The last check of all objects: endpoints, drivers and certificates change without any of them. */
  #last: WholeCheck | undefined
  /** Looking for claims takes a walk over all objects; a snapshot never changes. */
  readonly #claims = new WeakMap<Snapshot, { readonly claims: Claims; readonly crossNamespace: CrossNamespaceConfig }>()
  /** Objects never change. */
  readonly #sums = new WeakMap<MeshObject, ExpressionSums>()
  readonly #patterns = new PatternChecker()

  constructor(options: SpecRulesOptions) {
    this.#options = options
  }

  /** All problems of a snapshot, sorted by place. */
  checkAll(snapshot: Snapshot): readonly Problem[] {
    return atOnce(this.checkInSteps(snapshot))
  }

  /** The same, an item of an object in each step. An object is checked again if it, or something that its check has read, is another one than at the last check. */
  *checkInSteps(snapshot: Snapshot): Steps<readonly Problem[]> {
    const crossNamespace = this.#options.crossNamespace()
    const gatewayNames = this.#options.gatewayNames().join(' ')
    const last = this.#last
    // Lines of a file may have moved since, so places are looked up again.
    if (last?.snapshot === snapshot && last.crossNamespace === crossNamespace && last.gatewayNames === gatewayNames)
      return this.#problems(last)
    const isComparable = last?.crossNamespace === crossNamespace && last.gatewayNames === gatewayNames
    const changed = isComparable ? changedReads(last.snapshot, snapshot) : undefined
    const recorded = new RecordedSnapshot(snapshot)
    const context = this.#context(snapshot, recorded)
    const checked = new Map<Kind, ReadonlyMap<MeshObject, CheckedObject>>()
    for (const { kind, run } of checks) {
      const known = changed && last?.checked.get(kind)
      const ofKind = new Map<MeshObject, CheckedObject>()
      for (const object of snapshot.list(kind)) {
        const before = known?.get(object)
        if (before !== undefined && !before.reads.some((read) => changed?.has(read))) {
          ofKind.set(object, before)
          continue
        }
        // A budget for each object: what one is wrong about takes nothing from others.
        const findings = listed(yield* run(object, { ...context, suggestions: new SuggestionBudget() }))
        ofKind.set(object, { findings, reads: recorded.taken() })
        yield
      }
      checked.set(kind, ofKind)
      yield
    }
    this.#last = { snapshot, crossNamespace, gatewayNames, checked }
    return this.#problems(this.#last)
  }

  /** Problems of one object beside the others; the object need not be in the snapshot yet. */
  check(object: MeshObject, snapshot: Snapshot): readonly Problem[] {
    return this.review(object, snapshot)
      .map(({ problem }) => problem)
      .sort(compareProblems)
  }

  /** The same for an object that is about to be written: tells what it has to be refused for from what others may still put right. */
  review(object: MeshObject, snapshot: Snapshot): readonly ReviewedProblem[] {
    return atOnce(this.reviewInSteps(object, snapshot))
  }

  /** The same, in steps. */
  *reviewInSteps(object: MeshObject, snapshot: Snapshot): Steps<readonly ReviewedProblem[]> {
    const beyond = yield* this.#beyondBounds(object, snapshot)
    const context = this.#context(snapshot)
    yield
    const found: Finding[] = []
    for (const { kind, run } of checks)
      if (kind === object.kind) for (const finding of yield* run(object, context)) found.push(finding)
    return [...beyond, ...listed(found)].map((finding) => ({
      problem: this.#problem(object, finding),
      pending: finding.pending === true,
    }))
  }

  /** What an object that is about to be written would make of its namespace. */
  *#beyondBounds(object: MeshObject, snapshot: Snapshot): Steps<readonly Finding[]> {
    const { kind, metadata } = object
    if (!expressionKinds.includes(kind)) return []
    const key = objectKey(object)
    let sums = yield* this.#expressionSums(object)
    for (const other of expressionKinds.flatMap((it): readonly MeshObject[] =>
      snapshot.byNamespace(it, metadata.namespace),
    )) {
      if (objectKey(other) !== key) sums = addExpressions(sums, yield* this.#expressionSums(other))
      yield
    }
    const beyond = exceeded(sums, namespaceExpressionBounds)
    if (beyond === undefined) return []
    const message = `with it namespace ${metadata.namespace} has ${beyond} in a namespace`
    return [fault('OSM_SPEC_NAMESPACE_BOUND', 'spec', message)]
  }

  *#expressionSums(object: MeshObject): Steps<ExpressionSums> {
    const known = this.#sums.get(object)
    if (known !== undefined) return known
    const sums = yield* sumExpressionsInSteps(expressionsOf(object))
    this.#sums.set(object, sums)
    return sums
  }

  /** @param recorded - the same snapshot, where what checks read is to be recorded */
  #context(snapshot: Snapshot, recorded?: RecordedSnapshot): CheckContext {
    const read = recorded ?? snapshot
    const { clusterDomain, trustDomain, osmNamespace, gatewayNames, readsRootCertificates = false } = this.#options
    const crossNamespace = this.#options.crossNamespace()
    const grantsIn: ConsentRule['grantsIn'] = (namespace, kind) =>
      read.byNamespace(kind, namespace).map(({ spec }) => spec)
    const consent = { osmNamespace, crossNamespace, grantsIn }
    const permits = (reference: CrossReference): boolean => isPermitted(reference, consent)
    let known = this.#claims.get(snapshot)
    if (known?.crossNamespace !== crossNamespace) {
      known = { claims: new Claims(snapshot, { clusterDomain, osmNamespace, permits }), crossNamespace }
      this.#claims.set(snapshot, known)
    }
    const claims = recorded?.claims(known.claims) ?? known.claims
    const patterns = this.#patterns
    const suggestions = new SuggestionBudget()
    return {
      snapshot: read,
      clusterDomain,
      trustDomain,
      consent,
      permits,
      gatewayNames,
      readsRootCertificates,
      patterns,
      claims,
      suggestions,
    }
  }

  #problems({ checked }: WholeCheck): readonly Problem[] {
    const problems: Problem[] = []
    for (const ofKind of checked.values())
      for (const [object, { findings }] of ofKind)
        for (const finding of findings) problems.push(this.#problem(object, finding))
    return problems.sort(compareProblems)
  }

  #problem(object: MeshObject, { code, severity, message, field }: Finding): Problem {
    const origin = this.#options.locate?.(objectKey(object), field) ?? object.origin
    return { code, severity, message, object: objectRef(object), origin, field }
  }
}

/** The findings that are told: faults first, then doubts. */
function listed(findings: readonly Finding[]): readonly Finding[] {
  if (findings.length <= maxFindings) return findings
  const faults = findings.filter(({ severity }) => severity === 'error')
  const first = [...faults, ...findings.filter(({ severity }) => severity !== 'error')].slice(0, maxFindings)
  const unlisted = `has ${findings.length - maxFindings} more problems, which are not listed`
  // Of findings that others can put right, those that are left out are some as well.
  const more =
    faults.length > maxFindings ? fault('OSM_SPEC_MORE', 'spec', unlisted) : doubt('OSM_SPEC_MORE', 'spec', unlisted)
  return [...first, faults.every(({ pending }) => pending === true) ? { ...more, pending: true } : more]
}

/** `matches` of kinds that have it for compatibility only. */
function checkUnreadMatches(matches: readonly unknown[] | undefined): readonly Finding[] {
  return findings(
    (matches ?? []).length > 0 &&
      doubt('OSM_SPEC_NO_EFFECT', 'spec.matches', 'has no effect: the object means the same without it'),
  )
}
