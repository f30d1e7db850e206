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

/** A check of which nobody can tell. */
export function unknown(context: string, reason: string, suggestion: string): Check {
  return { context, status: 'Unknown', reason, suggestion, nested: [] }
}

/** Checks that make up another one: it holds if all of them do. */
export function together(context: string, nested: readonly Check[]): Check {
  const statuses = nested.map(({ status }) => status)
  const status = (['Failure', 'Unknown'] as const).find((each) => statuses.includes(each)) ?? 'Success'
  return { context, status, nested }
}
