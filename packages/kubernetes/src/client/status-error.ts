import { isRecord } from '@osm-ts/driver-api/toolkit'

import { codeOfStatus, type ForbiddenBy, KubernetesError } from '../kubernetes-error.js'

/** An object of kind Status, as far as it is read. */
interface StatusObject {
  readonly code?: number
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly retryAfterSeconds?: number; readonly causes?: readonly StatusCause[] }
}

interface StatusCause {
  readonly reason?: string
  readonly field?: string
}

/** How much of a message of the API server is passed on. */
const MAX_MESSAGE = 2_000

/**
 * The error for an answer that is not a success.
 *
 * @param what - names the request
 * @param secret - true if the message of the API server may quote something secret that was sent; it is ignored then,
 *   and what it says of a 403 is put into fixed words
 */
export function statusError(
  what: string,
  secret: boolean,
  answer: { readonly status: number; readonly body: unknown; readonly retryAfter?: string | undefined },
): KubernetesError {
  const status = asStatus(answer.body)
  const code = answer.status
  const retryAfterMs = retryAfterOf(answer.retryAfter, status)
  const fields = (status.details?.causes ?? []).flatMap(({ field }) => (typeof field === 'string' ? [field] : []))
  const forbiddenBy = code === 403 ? forbiddenByOf(status) : undefined
  const text = secret ? safeText(fields, forbiddenBy) : (status.message ?? '')
  const reason = status.reason
  const heading = `${what}: ${code}${reason === undefined ? '' : ` ${reason}`}`
  return new KubernetesError(codeOfStatus(code), text === '' ? heading : `${heading}: ${text.slice(0, MAX_MESSAGE)}`, {
    status: code,
    ...(reason === undefined ? {} : { reason }),
    ...(forbiddenBy === undefined ? {} : { forbiddenBy }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    details: {
      status: code,
      ...(reason === undefined ? {} : { reason }),
      ...(forbiddenBy === undefined ? {} : { forbiddenBy }),
      ...(fields.length > 0 ? { fields } : {}),
    },
  })
}

/** The error that is in an ERROR event of a watch. */
export function watchError(what: string, object: unknown): KubernetesError {
  const { code } = asStatus(object)
  return statusError(what, false, { status: code ?? 500, body: object })
}

/** The fixed words for a 403 whose own might quote something secret. */
const FORBIDDEN_TEXT: Readonly<Record<ForbiddenBy, string>> = {
  rbac: 'no role allows it',
  quota: 'a quota of the namespace does not allow it',
  terminating: 'the namespace is being terminated',
}

function safeText(fields: readonly string[], forbiddenBy: ForbiddenBy | undefined): string {
  if (forbiddenBy !== undefined) return FORBIDDEN_TEXT[forbiddenBy]
  return fields.length === 0 ? '' : `in ${fields.join(', ')}`
}

/** The API server has one reason, `Forbidden`, for all of these, and a cause for only one: the message distinguishes them. */
function forbiddenByOf({ message = '', details }: StatusObject): ForbiddenBy | undefined {
  if (details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true) return 'terminating'
  const text = message.slice(0, MAX_MESSAGE)
  if (/forbidden: User ".*" cannot /.test(text)) return 'rbac'
  if (/forbidden: (?:exceeded|failed|insufficient) quota|forbidden: status unknown for quota/.test(text)) return 'quota'
  return /forbidden: .*because it is being terminated/.test(text) ? 'terminating' : undefined
}

/** What of an answer is of the form of a Status. An aggregated API, or what stands between, may answer anything. */
function asStatus(body: unknown): StatusObject {
  if (!isRecord(body) || body.kind !== 'Status') return {}
  const { code, reason, message } = body
  const details = isRecord(body.details) ? body.details : {}
  const { retryAfterSeconds } = details
  const causes = Array.isArray(details.causes) ? details.causes.filter(isRecord) : []
  return {
    ...(typeof code === 'number' && { code }),
    ...(typeof reason === 'string' && { reason }),
    ...(typeof message === 'string' && { message }),
    details: {
      ...(typeof retryAfterSeconds === 'number' && { retryAfterSeconds }),
      causes: causes.map((cause) => ({
        ...(typeof cause.reason === 'string' && { reason: cause.reason }),
        ...(typeof cause.field === 'string' && { field: cause.field }),
      })),
    },
  }
}

function retryAfterOf(header: string | undefined, status: StatusObject): number | undefined {
  const seconds = header === undefined || header === '' ? status.details?.retryAfterSeconds : Number(header)
  return seconds !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined
}
