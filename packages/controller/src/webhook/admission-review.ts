import { OsmError } from '@osm-ts/driver-api'

import type { ControllerErrorCode } from '../errors.js'
import { isDeeperThan } from './json-depth.js'

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>

/** What the API server asks. */
export interface AdmissionRequest {
  readonly uid: string
  readonly operation: string
  readonly namespace: string
  readonly name: string
  /** Absent when an object is deleted. */
  readonly object: JsonObject | undefined
  /** Absent when an object is created. */
  readonly oldObject: JsonObject | undefined
}

/** What is answered. */
export interface AdmissionVerdict {
  /** Why it is refused; empty lets it pass. */
  readonly denials: readonly string[]
  readonly warnings: readonly string[]
}

/** The API server takes objects of 1.5 MiB; a review holds two of them, with their history. */
export const MAX_REVIEW_OCTETS = 6 * 1024 * 1024
/** Deeper than any object that a schema of ours describes, with room for fields that we do not read. */
const MAX_REVIEW_DEPTH = 128
/** kubectl cuts longer warnings off. */
const MAX_WARNING = 256
const MAX_WARNINGS = 16
const MAX_MESSAGE = 4096

const apiVersion = 'admission.k8s.io/v1'

/**
 * Reads a review.
 *
 * @throws OsmError with code `OSM_ADMISSION_REVIEW`
 */
export function parseAdmissionReview(body: Uint8Array): AdmissionRequest {
  if (isDeeperThan(body, MAX_REVIEW_DEPTH)) throw refuse(`is nested deeper than ${MAX_REVIEW_DEPTH} levels`)
  let review: unknown
  try {
    review = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    // The reason would repeat what was sent.
    throw refuse('is no JSON in UTF-8')
  }
  if (!isObject(review) || review.kind !== 'AdmissionReview') throw refuse('is no AdmissionReview')
  if (review.apiVersion !== apiVersion) throw refuse(`has an apiVersion other than ${apiVersion}`)
  const { request } = review
  if (!isObject(request)) throw refuse('has no request')
  const { uid, operation, namespace = '', name = '', object, oldObject } = request
  if (typeof uid !== 'string' || uid === '') throw refuse('has no request.uid')
  if (typeof operation !== 'string') throw refuse('has no request.operation')
  if (typeof namespace !== 'string' || typeof name !== 'string') throw refuse('has a name that is no text')
  return { uid, operation, namespace, name, object: objectOrNone(object), oldObject: objectOrNone(oldObject) }
}

/** The answer to a review. */
export function admissionResponse(uid: string, { denials, warnings }: AdmissionVerdict): JsonObject {
  const allowed = denials.length === 0
  return {
    apiVersion,
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(allowed ? {} : { status: { code: 422, reason: 'Invalid', message: cut(denials.join('; '), MAX_MESSAGE) } }),
      ...(warnings.length === 0
        ? {}
        : { warnings: warnings.slice(0, MAX_WARNINGS).map((warning) => cut(warning, MAX_WARNING)) }),
    },
  }
}

function cut(text: string, length: number): string {
  // Warnings travel in a header, where control characters have no place; text of users is in both.
  const clean = text.replace(/\p{Cc}+/gu, ' ')
  return clean.length <= length ? clean : `${clean.slice(0, length - 1)}…`
}

function objectOrNone(value: unknown): JsonObject | undefined {
  return isObject(value) ? value : undefined
}

/** True for an object of JSON that is no list. */
export function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function refuse(what: string): OsmError {
  return new OsmError<ControllerErrorCode>('OSM_ADMISSION_REVIEW', `the request ${what}`)
}
