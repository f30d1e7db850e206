import { OsmError, type ErrorDetails } from '@osm-ts/driver-api'

import type { KubernetesErrorCode } from './error-codes.js'

/**
 * What a 403 is about: the sender has no right to it, a quota of the namespace is used up, or the namespace is ending.
 * Admission refuses for further reasons, which have no word here.
 */
export type ForbiddenBy = 'rbac' | 'quota' | 'terminating'

/** What an API server says beside its status code. */
export interface KubernetesErrorFacts {
  /** HTTP status; absent if there was no answer. */
  readonly status?: number
  /** Word of the API server, such as `AlreadyExists`. */
  readonly reason?: string
  /** What a 403 is about, where that is known. */
  readonly forbiddenBy?: ForbiddenBy
  /** How long the API server asks to wait. */
  readonly retryAfterMs?: number
  readonly details?: ErrorDetails
  readonly cause?: unknown
}

/** Why the API server did not do what it was asked for. Holds no credentials and nothing of a Secret. */
export class KubernetesError extends OsmError<KubernetesErrorCode> {
  /** HTTP status; undefined if there was no answer. */
  readonly status: number | undefined
  /** Word of the API server, such as `AlreadyExists`. */
  readonly reason: string | undefined
  /** What a 403 is about, where that is known. */
  readonly forbiddenBy: ForbiddenBy | undefined
  /** How long the API server asks to wait. */
  readonly retryAfterMs: number | undefined

  constructor(code: KubernetesErrorCode, message: string, facts: KubernetesErrorFacts = {}) {
    const { cause, details } = facts
    super(code, message, { ...(cause === undefined ? {} : { cause }), ...(details === undefined ? {} : { details }) })
    this.name = 'KubernetesError'
    this.status = facts.status
    this.reason = facts.reason
    this.forbiddenBy = facts.forbiddenBy
    this.retryAfterMs = facts.retryAfterMs
  }

  /** The resource version or the continue token is too old. */
  get expired(): boolean {
    return this.code === 'OSM_KUBERNETES_EXPIRED'
  }

  /** There is such an object already, or somebody else has written it. */
  get conflict(): boolean {
    return this.code === 'OSM_KUBERNETES_CONFLICT'
  }

  /** There is no such object, or no such kind. */
  get notFound(): boolean {
    return this.code === 'OSM_KUBERNETES_NOT_FOUND'
  }
}

/** True for a {@link KubernetesError}, optionally one of the given code. */
export function isKubernetesError(error: unknown, code?: KubernetesErrorCode): error is KubernetesError {
  return error instanceof KubernetesError && (code === undefined || error.code === code)
}

/** The code that stands for an HTTP status. */
export function codeOfStatus(status: number): KubernetesErrorCode {
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return 'OSM_KUBERNETES_INVALID'
    case 401:
      return 'OSM_KUBERNETES_UNAUTHORIZED'
    case 403:
      return 'OSM_KUBERNETES_FORBIDDEN'
    case 404:
    case 405:
      return 'OSM_KUBERNETES_NOT_FOUND'
    case 409:
      return 'OSM_KUBERNETES_CONFLICT'
    case 410:
      return 'OSM_KUBERNETES_EXPIRED'
    case 429:
      return 'OSM_KUBERNETES_THROTTLED'
    default:
      return 'OSM_KUBERNETES_FAILED'
  }
}

/** `code` of a system error; undefined for others. */
export function systemCode(error: unknown): string | undefined {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : undefined
}
