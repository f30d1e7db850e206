import { ResolveFailure } from '@osm-ts/endpoints-polling'

const denied = new Set([
  'AccessDenied',
  'AccessDeniedException',
  'AuthFailure',
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidClientTokenId',
  'OptInRequired',
  'RequestExpired',
  'SignatureDoesNotMatch',
  'UnauthorizedOperation',
  'UnrecognizedClientException',
])
const throttled = new Set([
  'EC2ThrottledException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
])
/** Time for which AWS is left alone where it does not say how long. */
const pauseMs = 60_000

/** The members of errors of the SDK that are read; each may be missing. */
interface SdkError {
  readonly name?: unknown
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> }
}

/**
 * What an error of the SDK means. Messages of the SDK are not repeated: they may quote requests.
 *
 * @param what - the operation, such as `DescribeInstances`
 */
export function toResolveFailure(error: unknown, what: string): ResolveFailure {
  if (error instanceof ResolveFailure) return error
  const { name, $metadata, $response } = (typeof error === 'object' && error !== null ? error : {}) as SdkError
  const status = $metadata?.httpStatusCode
  const word = typeof name === 'string' && /^[\w.]{1,64}$/.test(name) ? name : ''
  const label = [status, word].filter((part) => part !== undefined && part !== '').join(' ')
  if (throttled.has(word) || status === 429) {
    const header = $response?.headers?.['retry-after'] ?? ''
    const waitMs = /^\d{1,6}$/.test(header) ? Number(header) * 1000 : pauseMs
    return new ResolveFailure('Throttled', `${what} was throttled; next attempt in ${waitMs / 1000} s`, waitMs)
  }
  if (denied.has(word) || status === 401 || status === 403) {
    return new ResolveFailure('AccessDenied', `${what} was denied (${label}); the identity needs the permission for it`)
  }
  if (word === 'AbortError' || word === 'TimeoutError') {
    return new ResolveFailure('CallTimedOut', `${what} took longer than the time for a call`)
  }
  if (word === 'InvalidInstanceID.NotFound') return new ResolveFailure('NotFound', `${what} found nothing (${label})`)
  return new ResolveFailure('Unavailable', `${what} failed (${label === '' ? 'no answer' : label})`)
}
