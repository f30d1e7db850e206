import { OsmError } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import { atOnce, isDnsLabel, type Steps } from '@osm-ts/core'

import type { AdmissionErrorCode } from '../error-codes.js'
import { exceededJsonBound } from './json-depth.js'

/** An object of JSON. */
export type AdmissionObject = Readonly<Record<string, JsonValue>>

/** What the API server asks. */
export interface AdmissionRequest {
  readonly uid: string
  readonly operation: string
  readonly namespace: string
  readonly name: string
  /** `<group>/<version>/<kind>`; the core group is left out. */
  readonly kind: string
  readonly subResource: string
  readonly dryRun: boolean
  /** Absent when an object is deleted. */
  readonly object: AdmissionObject | undefined
  /** Absent when an object is created. */
  readonly oldObject: AdmissionObject | undefined
}

/** What it is told. */
export type AdmissionAnswer = {
  readonly warnings: readonly string[]
} & (
  | {
      readonly allowed: true
      /** Operations of a JSON patch. */
      readonly operations?: readonly object[]
    }
  | { readonly allowed: false; readonly code: number; readonly reason: string; readonly message: string }
)

const API_VERSION = 'admission.k8s.io/v1'
/** Deeper than any object that a schema describes, with room for fields that no one here reads. */
const MAX_DEPTH = 128
/** Two objects of the largest size that an API server stores, of short fields, with the history of their fields. */
const MAX_VALUES = 100_000
/** Length of the longest name that Kubernetes allows; no other word about an object is longer. */
const MAX_WORD = 253
/** kubectl cuts longer warnings off, and the API server drops what is too long in all. */
const MAX_WARNING = 256
const MAX_WARNINGS = 16
const MAX_MESSAGE = 4096

/**
 * Reads an AdmissionReview of version 1.
 *
 * @throws OsmError with code `OSM_ADMISSION_REVIEW`
 */
export function readAdmissionReview(body: Uint8Array): AdmissionRequest {
  return atOnce(readAdmissionReviewInSteps(body))
}

/** The same, in steps that each take time that is linear in the length of the body. */
export function* readAdmissionReviewInSteps(body: Uint8Array): Steps<AdmissionRequest> {
  const review = yield* parsed(body)
  // What is done with the object follows in the same turn, and may take as long.
  yield
  if (!isAdmissionObject(review) || review.kind !== 'AdmissionReview') throw refused('is not an AdmissionReview')
  if (review.apiVersion !== API_VERSION)
    throw refused(
      `has version ${shortly(review.apiVersion)}; this webhook speaks ${API_VERSION} only: ` +
        `set admissionReviewVersions: [v1] in its configuration`,
    )
  const { request } = review
  if (!isAdmissionObject(request)) throw refused('has no request')
  const uid = word(request, 'uid')
  if (uid === '') throw refused('has no request.uid')
  const namespace = word(request, 'namespace')
  if (namespace !== '' && !isDnsLabel(namespace))
    throw refused('has a request.namespace that is not a name of a namespace')
  return {
    uid,
    operation: word(request, 'operation'),
    namespace,
    name: word(request, 'name'),
    kind: kindOf(request),
    subResource: word(request, 'subResource'),
    dryRun: request.dryRun === true,
    object: isAdmissionObject(request.object) ? request.object : undefined,
    oldObject: isAdmissionObject(request.oldObject) ? request.oldObject : undefined,
  }
}

/** The answer as JSON. */
export function writeAdmissionReview(uid: string, answer: AdmissionAnswer): string {
  const warnings = answer.warnings.slice(0, MAX_WARNINGS).map((warning) => shortened(warning, MAX_WARNING))
  const response = { uid, ...verdict(answer), ...(warnings.length === 0 ? {} : { warnings }) }
  const review = JSON.stringify({ apiVersion: API_VERSION, kind: 'AdmissionReview', response })
  const operations = answer.allowed ? (answer.operations ?? []) : []
  return operations.length === 0 ? review : withPatch(review, operations)
}

function verdict(answer: AdmissionAnswer): object {
  if (answer.allowed) return { allowed: true }
  const { code, reason, message } = answer
  return { allowed: false, status: { status: 'Failure', code, reason, message: shortened(message, MAX_MESSAGE) } }
}

/** Nothing in base64 needs to be escaped, which a serializer would take longer to find out than everything else takes. */
function withPatch(review: string, operations: readonly object[]): string {
  const patch = Buffer.from(JSON.stringify(operations), 'utf8').toString('base64')
  return `${review.slice(0, -'}}'.length)},"patchType":"JSONPatch","patch":"${patch}"}}`
}

/** Warnings travel in a header, where control characters have no place; text of users is in both, and other characters could steer a terminal. */
function shortened(words: string, length: number): string {
  const clean = words.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`
}

function* parsed(body: Uint8Array): Steps<unknown> {
  let json: string
  try {
    json = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    throw refused('is not UTF-8')
  }
  yield
  // Whatever walks a parsed value calls itself for each level, so that depth has to be known before.
  const beyond = exceededJsonBound(json, { depth: MAX_DEPTH, values: MAX_VALUES })
  if (beyond === 'depth') throw refused(`is nested deeper than ${MAX_DEPTH} levels`)
  if (beyond === 'values') throw refused(`has more than ${MAX_VALUES} values; divide the object`)
  yield
  try {
    return JSON.parse(json) as unknown
  } catch {
    // The reason would repeat part of what was sent.
    throw refused('is not JSON')
  }
}

function kindOf({ kind }: AdmissionObject): string {
  const parts = isAdmissionObject(kind) ? kind : {}
  return ['group', 'version', 'kind']
    .map((member) => word(parts, member, 'request.kind'))
    .filter((part) => part !== '')
    .join('/')
}

/** A member that logs and answers may repeat, and so is short. */
function word(parent: AdmissionObject, member: string, path = 'request'): string {
  const value = parent[member] ?? ''
  if (typeof value !== 'string') throw refused(`has a ${path}.${member} that is not text`)
  if (value.length > MAX_WORD) throw refused(`has a ${path}.${member} of more than ${MAX_WORD} characters`)
  return value
}

/** True for an object of JSON that is not a list. */
export function isAdmissionObject(value: unknown): value is AdmissionObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function shortly(value: JsonValue | undefined): string {
  return value === undefined ? 'none' : JSON.stringify(value).slice(0, 64)
}

function refused(what: string): OsmError<AdmissionErrorCode> {
  return new OsmError<AdmissionErrorCode>('OSM_ADMISSION_REVIEW', `the request ${what}`)
}
