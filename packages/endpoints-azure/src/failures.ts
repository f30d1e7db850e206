import { ResolveFailure } from '@osm-ts/endpoints-polling'

/** The members of errors of Azure's SDK that are read; each may be missing. */
interface SdkError {
  readonly name?: unknown
  readonly code?: unknown
  readonly statusCode?: unknown
}

/** Errors of an identity without a token for Resource Manager. */
const identityErrors = new Set([
  'AuthenticationError',
  'AuthenticationRequiredError',
  'AggregateAuthenticationError',
  'CredentialUnavailableError',
])
/** Words after which the resource is known not to exist. Others, such as SubscriptionNotFound, can also mean that access was lost. */
const missing = new Set(['ResourceNotFound', 'ResourceGroupNotFound', 'ParentResourceNotFound', 'NotFound'])

/**
 * What an error of the SDK means. Messages of the SDK are not repeated: they may quote requests.
 *
 * @param what - the operation, such as `virtualMachines/get`
 */
export function toResolveFailure(error: unknown, what: string): ResolveFailure {
  if (error instanceof ResolveFailure) return error
  const { name, code, statusCode } = (typeof error === 'object' && error !== null ? error : {}) as SdkError
  const word = typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : undefined
  const status = typeof statusCode === 'number' ? String(statusCode) : undefined
  const label = [status, word].filter((part) => part !== undefined).join(' ')
  if (typeof name === 'string' && identityErrors.has(name)) {
    return new ResolveFailure('AccessDenied', `no token for Azure Resource Manager (${name}); check credential`)
  }
  if (name === 'AbortError' || name === 'TimeoutError') {
    return new ResolveFailure('CallTimedOut', `${what} took longer than the time for a call`)
  }
  if (statusCode === 401 || statusCode === 403) {
    return new ResolveFailure('AccessDenied', `${what} was denied (${label}); the identity needs the role Reader`)
  }
  if (statusCode === 404 && word !== undefined && missing.has(word)) {
    return new ResolveFailure('NotFound', `${what} found nothing (${label})`)
  }
  return new ResolveFailure('Unavailable', `${what} failed (${label === '' ? 'no answer' : label})`)
}

/** The time that a Retry-After header asks for, in milliseconds; undefined if it does not say. */
export function readRetryAfter(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,6}$/.test(header)) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
