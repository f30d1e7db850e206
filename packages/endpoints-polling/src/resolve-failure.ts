/** Stable codes of what keeps a selector from being resolved; reasons in the status of custom resources. */
export const resolveCodes = [
  'AccessDenied',
  'CallTimedOut',
  'InvalidSelector',
  'NotAllowed',
  'NotFound',
  'Throttled',
  'TooManyInstances',
  'TooManyPages',
  'TooManySelectors',
  'Unavailable',
] as const

/** One of {@link resolveCodes}. */
export type ResolveCode = (typeof resolveCodes)[number]

/** Codes after which nothing is known about the instances: the last good ones stay in force. */
const uncertain = new Set<ResolveCode>([
  'AccessDenied',
  'CallTimedOut',
  'Throttled',
  'TooManyInstances',
  'TooManyPages',
  'Unavailable',
])

/** A selector could not be resolved. The message is for people and holds no secret. */
export class ResolveFailure extends Error {
  override readonly name = 'ResolveFailure'
  readonly code: ResolveCode
  /** Time for which the API asks to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined

  constructor(code: ResolveCode, message: string, retryAfterMs?: number) {
    super(message)
    this.code = code
    this.retryAfterMs = retryAfterMs
  }

  /** False if the API or the configuration said for certain that the selector selects nothing. */
  get isUncertain(): boolean {
    return uncertain.has(this.code)
  }
}
