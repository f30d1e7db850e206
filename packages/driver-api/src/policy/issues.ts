/** What is wrong with a document, and where. */
export interface PolicyIssue {
  /** JSON pointer (RFC 6901) into the value that was checked; empty for the value itself. */
  readonly pointer: string
  /** What is wrong and what would be right. Never quotes a value that could be a secret. */
  readonly message: string
}

/** A reference token of a JSON pointer. */
export function pointerToken(name: string | number): string {
  return String(name).replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Collects issues below a pointer. */
export class IssueList {
  readonly #issues: PolicyIssue[]
  readonly #base: string

  /**
   * @param base - pointer of the value that is checked
   * @param issues - where issues go
   */
  constructor(base = '', issues: PolicyIssue[] = []) {
    this.#base = base
    this.#issues = issues
  }

  /** What was found so far, in order. */
  get issues(): readonly PolicyIssue[] {
    return this.#issues
  }

  /** Adds an issue; `pointer` is relative. */
  add(pointer: string, message: string): void {
    this.#issues.push({ pointer: this.#base + pointer, message })
  }

  /** Adds an issue unless the condition holds. */
  expect(condition: boolean, pointer: string, message: string): void {
    if (!condition) this.add(pointer, message)
  }

  /** The same list, seen from where a pointer leads. */
  at(pointer: string): IssueList {
    return new IssueList(this.#base + pointer, this.#issues)
  }

  /** The same list, seen from a member of the value. */
  below(...names: readonly (string | number)[]): IssueList {
    return new IssueList(
      names.reduce<string>((path, name) => `${path}/${pointerToken(name)}`, this.#base),
      this.#issues,
    )
  }
}
