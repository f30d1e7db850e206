/** Codes of invalid interception settings. They are stable and never reused. */
export const interceptionErrorCodes = {
  OSM_INTERCEPTION_PORT: 'a port is not a whole number between 1 and 65535, or two listeners of the sidecar share one',
  OSM_INTERCEPTION_RANGE: 'an address range is not written as address/prefix, or the address or prefix does not exist',
  OSM_INTERCEPTION_INTERFACE:
    'a network interface name is invalid: it must have 1 to 15 letters, digits, dots, underscores or inner hyphens',
  OSM_INTERCEPTION_UID:
    'the uid of the sidecar, or a gid that bypasses it, is not a whole number between 1 and 4294967294',
  OSM_INTERCEPTION_ADDRESS: 'the address of the pod or of the DNS listener is not a usable IP address',
  OSM_INTERCEPTION_LIST: 'a list has more entries than one ruleset may contain',
  OSM_INTERCEPTION_UNBOUND:
    'rules that require the address of the pod were rendered without an address for one restore call',
} as const

/** A code of {@link interceptionErrorCodes}. */
export type InterceptionErrorCode = keyof typeof interceptionErrorCodes

/** One wrong setting: `field` is the path inside the settings, `message` says what would be right. */
export interface InterceptionProblem {
  readonly code: InterceptionErrorCode
  readonly field: string
  readonly message: string
}

/**
 * Settings that no ruleset can be made from.
 *
 * Its own class, since this package imports nothing; `code` works as on every other coded error of the project. It is the code of
 * the first problem, all of them are in `problems`.
 */
export class InterceptionError extends Error {
  readonly code: InterceptionErrorCode
  readonly problems: readonly InterceptionProblem[]

  constructor(first: InterceptionProblem, ...others: readonly InterceptionProblem[]) {
    const problems = [first, ...others]
    super(problems.map((problem) => `${problem.field}: ${problem.message}`).join('; '))
    this.name = 'InterceptionError'
    this.code = first.code
    this.problems = problems
  }
}
