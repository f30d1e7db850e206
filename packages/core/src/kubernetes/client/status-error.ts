import { codeOfStatus, KubernetesError } from '../kubernetes-error.js'

/** An object of kind Status, as far as it is read. */
interface StatusObject {
  readonly code?: number
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly retryAfterSeconds?: number; readonly causes?: readonly { readonly field?: string }[] }
}

/** How much of a message of the API server is passed on. */
const MAX_MESSAGE = 2_000

/**
 * The error for an answer that is not a success.
 *
 * @param what - names the request
 * @param secret - true if the message of the API server may quote something secret that was sent; it is left out then
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
  const text = secret ? fieldsText(fields) : (status.message ?? '')
  const reason = status.reason
  const heading = `${what}: ${code}${reason === undefined ? '' : ` ${reason}`}`
  return new KubernetesError(codeOfStatus(code), text === '' ? heading : `${heading}: ${text.slice(0, MAX_MESSAGE)}`, {
    status: code,
    ...(reason === undefined ? {} : { reason }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    details: { status: code, ...(reason === undefined ? {} : { reason }), ...(fields.length > 0 ? { fields } : {}) },
  })
}

/** The error that stands in an ERROR event of a watch. */
export function watchError(what: string, object: unknown): KubernetesError {
  const { code } = asStatus(object)
  return statusError(what, false, { status: code ?? 500, body: object })
}

function fieldsText(fields: readonly string[]): string {
  return fields.length === 0 ? '' : `in ${fields.join(', ')}`
}

function asStatus(body: unknown): StatusObject {
  const isStatus = typeof body === 'object' && body !== null && 'kind' in body && body.kind === 'Status'
  return isStatus ? (body as StatusObject) : {} // as the API server's own schema says
}

function retryAfterOf(header: string | undefined, status: StatusObject): number | undefined {
  const seconds = header === undefined || header === '' ? status.details?.retryAfterSeconds : Number(header)
  return seconds !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined
}
