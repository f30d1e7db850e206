/** How a check came out. */
export type CheckStatus = 'Success' | 'Failure' | 'Unknown'

/** A check with what it is made of. */
export interface Check {
  /** What is checked. */
  readonly context: string
  readonly status: CheckStatus
  /** Why it did not succeed, or what lets it succeed where that is of interest. */
  readonly reason?: string
  /** What to do about it. */
  readonly suggestion?: string
  readonly nested: readonly Check[]
}

/** A check that holds. */
export function success(context: string, reason?: string): Check {
  return { context, status: 'Success', ...(reason !== undefined && { reason }), nested: [] }
}

/** A check that does not hold. */
export function failure(context: string, reason: string, suggestion: string): Check {
  return { context, status: 'Failure', reason, suggestion, nested: [] }
}

/** A check whose outcome is not known. */
export function unknown(context: string, reason: string, suggestion: string): Check {
  return { context, status: 'Unknown', reason, suggestion, nested: [] }
}

/**
 * Checks that make up another one: it holds if all of them do.
 *
 * @param note - what to know of all of them
 */
export function together(context: string, all: readonly Check[], note?: string): Check {
  const nested = saidOnce(all)
  const statuses = nested.map(({ status }) => status)
  const status = (['Failure', 'Unknown'] as const).find((each) => statuses.includes(each)) ?? 'Success'
  return { context, status, ...(note !== undefined && { reason: note }), nested }
}

/** Checks that are unknown for the same reason, such as a missing right, become one. */
function saidOnce(checks: readonly Check[]): readonly Check[] {
  const isSame = (one: Check, other: Check): boolean =>
    one.status === 'Unknown' && other.status === 'Unknown' && one.reason === other.reason
  return checks.flatMap((check, index) => {
    if (checks.slice(0, index).some((before) => isSame(before, check))) return []
    const alike = checks.filter((other) => isSame(check, other)).length
    return alike < 2 ? [check] : [{ ...check, context: `${check.context}, and ${alike - 1} more for the same reason` }]
  })
}
