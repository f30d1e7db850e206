import {
  atOnce,
  type FeatureFlag,
  isOfKind,
  type Kind,
  type MeshConfig,
  type MeshObject,
  ObjectDecoder,
  type ObjectOrigin,
  type Problem,
  sameValue,
  type Snapshot,
  type SpecRules,
  type Steps,
  unsupportedFields,
} from '@osm-ts/core'
import { type AdmissionObject, type AdmissionRequest, isAdmissionObject } from '@osm-ts/program'
import type { Driver } from '@osm-ts/driver-api'

import type { ControllerErrorCode } from '../errors.js'
import { type DenialOptions, flagRules, isDenied } from './admission-rules.js'
import { type MeshConfigReviewOptions, reviewMeshConfig } from './mesh-config-review.js'
import { type AdmissionVerdict, findingText, type ObjectFindings } from './object-findings.js'

/** What objects are reviewed with. */
export interface ObjectReviewerOptions extends DenialOptions, MeshConfigReviewOptions {
  readonly rules: SpecRules
  /** The mesh as it is now. */
  readonly snapshot: () => Snapshot
  readonly config: () => MeshConfig
  /** Name of the MeshConfig of this mesh. */
  readonly configName: string
}

/** What is checked of a request. */
export type ReviewedRequest = Pick<AdmissionRequest, 'operation' | 'namespace' | 'name' | 'object' | 'oldObject'>

const letPass: AdmissionVerdict = Object.freeze({ denials: [], warnings: [] })

/** Says whether an object may be written. Reads available data and waits for nothing but its turn. */
export class ObjectReviewer {
  readonly #options: ObjectReviewerOptions
  readonly #decoder = new ObjectDecoder()

  constructor(options: ObjectReviewerOptions) {
    this.#options = options
  }

  /** Reviews at once. */
  review(request: ReviewedRequest): AdmissionVerdict {
    return atOnce(this.reviewInSteps(request))
  }

  /** The same in steps, for those who serve others meanwhile. */
  *reviewInSteps(request: ReviewedRequest): Steps<AdmissionVerdict> {
    const { object, oldObject, operation } = request
    if (object === undefined || (operation !== 'CREATE' && operation !== 'UPDATE')) return letPass
    // Labels, finalizers and status of an object that is bad already must not be stuck.
    if (operation === 'UPDATE' && oldObject !== undefined && sameValue(object.spec, oldObject.spec)) return letPass
    yield
    const { denials, warnings } = yield* this.#find(named(object, request.name), request.namespace)
    return { denials: denials.map(findingText), warnings: warnings.map(findingText) }
  }

  *#find(raw: AdmissionObject, namespace: string): Steps<ObjectFindings> {
    const origin: ObjectOrigin = { kind: 'api', resourceVersion: '' }
    const decoded = yield* this.#decoder.decodeInSteps(raw, {
      origin,
      defaultNamespace: namespace,
      locate: () => origin,
      sourceText: () => undefined,
    })
    const own = decoded.problems
    const denials = own.filter(({ severity }) => severity === 'error')
    const warnings = own.filter(({ severity }) => severity === 'warning')
    const { object } = decoded
    if (object === undefined) return { denials, warnings }
    yield
    const byRules = yield* this.#byRules(object)
    yield
    const found = [byRules, this.#byFlag(object), this.#byKind(object), this.#byCapabilities(object)]
    return {
      denials: [...denials, ...found.flatMap((it) => it.denials)],
      warnings: [...warnings, ...found.flatMap((it) => it.warnings)],
    }
  }

  *#byRules(object: MeshObject): Steps<ObjectFindings> {
    const { rules, snapshot } = this.#options
    const reviewed = yield* rules.reviewInSteps(object, snapshot())
    const denied = reviewed.filter(({ problem, pending }) => !pending && isDenied(object.kind, problem, this.#options))
    return {
      denials: denied.map(({ problem }) => problem),
      warnings: reviewed.filter((it) => !denied.includes(it)).map(({ problem }) => problem),
    }
  }

  #byFlag(object: MeshObject): ObjectFindings {
    const rule = flagRules[object.kind]
    if (rule === undefined || this.#options.config().featureFlags[rule.flag]) return { denials: [], warnings: [] }
    return rule.off === 'deny'
      ? { denials: [flagProblem(object.kind, rule.flag, 'is refused')], warnings: [] }
      : { denials: [], warnings: [flagProblem(object.kind, rule.flag, 'is not read')] }
  }

  #byKind(object: MeshObject): ObjectFindings {
    const { osmNamespace, configName } = this.#options
    const { namespace, name } = object.metadata
    if (!isOfKind(object, 'MeshConfig') || namespace !== osmNamespace || name !== configName)
      return { denials: [], warnings: [] }
    return reviewMeshConfig(object, this.#options)
  }

  /** What it requests is asked of the class that most proxies are of. */
  #byCapabilities(object: MeshObject): ObjectFindings {
    const driver = this.#defaultDriver()
    if (driver === undefined) return { denials: [], warnings: [] }
    const gaps = unsupportedFields(object, driver.capabilities)
    return {
      denials: [],
      warnings: gaps.map(({ field, feature }) =>
        problem(
          'OSM_ADMISSION_CAPABILITY',
          field,
          `sidecar class ${driver.name} cannot do this (${feature}); it is not enforced`,
        ),
      ),
    }
  }

  #defaultDriver(): Driver | undefined {
    const { registry, config } = this.#options
    const { sidecarClass } = config().sidecar
    return registry.names().includes(sidecarClass) ? registry.get(sidecarClass) : undefined
  }
}

function flagProblem(kind: Kind, flag: FeatureFlag, what: string): Problem {
  return problem('OSM_ADMISSION_FLAG', undefined, `${kind} ${what} while featureFlags.${flag} of MeshConfig is false`)
}

function problem(code: ControllerErrorCode, field: string | undefined, message: string): Problem {
  return { code, severity: 'warning', message, ...(field === undefined ? {} : { field }) }
}

/** An object that the API server has yet to name is reviewed under the beginning of its name. */
function named(object: AdmissionObject, name: string): AdmissionObject {
  const { metadata } = object
  if (!isAdmissionObject(metadata) || typeof metadata.name === 'string') return object
  const generated = typeof metadata.generateName === 'string' ? `${metadata.generateName}x` : undefined
  const shown = name || generated
  return { ...object, metadata: { ...metadata, ...(shown === undefined ? {} : { name: shown }) } }
}
