/** What becomes of an object. */
export interface AdmissionVerdict {
  /** Why it is refused; empty lets it pass. */
  readonly denials: readonly string[]
  readonly warnings: readonly string[]
}
