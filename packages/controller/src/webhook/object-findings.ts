import type { Problem } from '@osm-ts/core'

/** What was found out about an object that is about to be written. */
export interface ObjectFindings {
  /** What it is refused for. */
  readonly denials: readonly Problem[]
  /** What its writer should know. */
  readonly warnings: readonly Problem[]
}

/** One sentence for a person: where, what, and the code to look up. */
export function findingText({ field, message, code }: Problem): string {
  return `${field === undefined ? '' : `${field}: `}${message} [${code}]`
}

/** What becomes of an object. */
export interface AdmissionVerdict {
  /** Why it is refused; empty lets it pass. */
  readonly denials: readonly string[]
  readonly warnings: readonly string[]
}
