import { OsmError, type JsonValue } from '@osm-ts/driver-api'

import type { InjectorErrorCode } from '../error-codes.js'
import type { PatchOperation } from '../json/json-patch.js'
import { isObject, type JsonObject, objectOf, textOf } from '../json/json.js'
import { isNestedDeeper } from './json-depth.js'

const API_VERSION = 'admission.k8s.io/v1'
/** Kubernetes' own objects stay far below. */
const MAX_DEPTH = 100
/** The API server drops longer ones, and with them the rest. */
const MAX_WARNING = 256
const MAX_MESSAGE = 4096

/** What the API server asks. */
export interface AdmissionRequest {
  readonly uid: string
  readonly namespace: string
  readonly operation: string
  /** Kind of the object, with its group and version. */
  readonly kind: string
  readonly subResource: string
  readonly dryRun: boolean
  readonly object: JsonObject
}

/** What it is told. */
export type AdmissionAnswer =
  | {
      readonly allowed: true
      readonly operations: readonly PatchOperation[]
      readonly warnings: readonly string[]
    }
  | { readonly allowed: false; readonly code: number; readonly reason: string; readonly message: string }

/**
 * Reads an AdmissionReview of version 1.
 *
 * @throws OsmError `OSM_INJECT_REVIEW`
 */
export function readAdmissionReview(text: string): AdmissionRequest {
  if (isNestedDeeper(text, MAX_DEPTH)) throw refused(`the review is nested deeper than ${MAX_DEPTH} levels`)
  const review = parsed(text)
  if (!isObject(review) || review.kind !== 'AdmissionReview') throw refused('the request is no AdmissionReview')
  if (review.apiVersion !== API_VERSION)
    throw refused(
      `the review has version ${shortly(review.apiVersion)}; this webhook speaks ${API_VERSION} only: ` +
        `set admissionReviewVersions: [v1] in its configuration`,
    )
  const request = objectOf(review.request)
  const uid = textOf(request.uid)
  if (uid === '') throw refused('the review has no request.uid')
  const { group, version, kind } = objectOf(request.kind)
  return {
    uid,
    namespace: textOf(request.namespace),
    operation: textOf(request.operation),
    kind: [group, version, kind].map(textOf).filter(Boolean).join('/'),
    subResource: textOf(request.subResource),
    dryRun: request.dryRun === true,
    object: objectOf(request.object),
  }
}

/** The answer as JSON. */
export function writeAdmissionReview(uid: string, answer: AdmissionAnswer): string {
  return JSON.stringify({ apiVersion: API_VERSION, kind: 'AdmissionReview', response: { uid, ...response(answer) } })
}

function response(answer: AdmissionAnswer): object {
  if (!answer.allowed) {
    const { code, reason, message } = answer
    return { allowed: false, status: { status: 'Failure', code, reason, message: message.slice(0, MAX_MESSAGE) } }
  }
  const { operations, warnings } = answer
  return {
    allowed: true,
    ...(operations.length === 0
      ? {}
      : { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations), 'utf8').toString('base64') }),
    ...(warnings.length === 0 ? {} : { warnings: warnings.map((warning) => warning.slice(0, MAX_WARNING)) }),
  }
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    // The reason would repeat part of what was sent.
    throw refused('the request is no JSON')
  }
}

function shortly(value: JsonValue | undefined): string {
  return JSON.stringify(value ?? null).slice(0, 64)
}

function refused(message: string): OsmError<InjectorErrorCode> {
  return new OsmError<InjectorErrorCode>('OSM_INJECT_REVIEW', message)
}
