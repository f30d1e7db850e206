/** Names one object of the mesh specification. `namespace` is empty for cluster-scoped kinds. */
export interface ObjectRef {
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Where an object was written down: a file of a folder, or the API server. */
export type ObjectOrigin =
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'api'; readonly resourceVersion: string }

/**
 * Something a user wrote that can't be used as it stands.
 *
 * Problems are values: a bad object degrades itself, never the mesh. `code` is stable and listed in
 * docs/reference/errors.md.
 */
export interface Problem {
  readonly code: string
  readonly severity: 'error' | 'warning'
  /** What is wrong and what would be right, in one sentence. */
  readonly message: string
  readonly object?: ObjectRef
  readonly origin?: ObjectOrigin
  /** Path inside the object, such as `spec.backends[1].weight`. */
  readonly field?: string
}

/** `Kind namespace/name`, or `Kind name` for cluster-scoped kinds. */
export function formatObjectRef(ref: ObjectRef): string {
  return ref.namespace === '' ? `${ref.kind} ${ref.name}` : `${ref.kind} ${ref.namespace}/${ref.name}`
}

/** One line as compilers write it: `file:line:column: severity: object: field: message [code]`. */
export function formatProblem(problem: Problem): string {
  const place =
    problem.origin?.kind === 'file' ? `${problem.origin.file}:${problem.origin.line}:${problem.origin.column}` : ''
  const parts = [
    place,
    problem.severity,
    problem.object && formatObjectRef(problem.object),
    problem.field,
    problem.message,
  ]
  return `${parts.filter(Boolean).join(': ')} [${problem.code}]`
}

/**
 * Orders problems by place, then object, field and code, so that lists of problems do not depend on the order of
 * checks.
 */
export function compareProblems(a: Problem, b: Problem): number {
  return compareKeys(sortKey(a), sortKey(b))
}

/**
 * The problems of several finders as one list, sorted by place. What two of them say of one field by the same code is one problem: that of the finder named
 * first, unless the later one is an error and the first only a warning.
 */
export function joinProblems(finders: readonly (readonly Problem[])[]): readonly Problem[] {
  const firstFinder = new Map<string, number>()
  const joined = new Map<string, Problem>()
  for (const [index, problems] of finders.entries())
    for (const problem of problems) {
      const place = placeKey(problem)
      const first = firstFinder.get(place) ?? index
      if (first < index) continue
      firstFinder.set(place, first)
      joined.set(formatProblem(problem), problem)
    }
  return [...joined.values()].sort(compareProblems)
}

/** What is new in a list of problems since the one before. */
export interface ProblemChanges {
  /** All of them, as {@link formatProblem} writes them: the `before` of the next comparison. */
  readonly current: ReadonlySet<string>
  /** Those that were not there before, by their text. */
  readonly came: readonly (readonly [text: string, problem: Problem])[]
  /** Texts of those that are no longer there. */
  readonly went: readonly string[]
}

/** Compares problems with the previous ones. */
export function problemChanges(found: readonly Problem[], before: ReadonlySet<string>): ProblemChanges {
  const now = new Map(found.map((problem) => [formatProblem(problem), problem]))
  return {
    current: new Set(now.keys()),
    came: [...now].filter(([text]) => !before.has(text)),
    went: [...before].filter((text) => !now.has(text)),
  }
}

/** Of an object's field: the severity is part of it, so that an error is never left out for a warning. */
function placeKey(problem: Problem): string {
  const { code, severity, object, field, message } = problem
  if (object === undefined) return formatProblem(problem)
  return field === undefined
    ? `${code} ${severity} ${formatObjectRef(object)} ${message}`
    : `${code} ${severity} ${formatObjectRef(object)} ${field}`
}

type SortKey = readonly (string | number)[]

function sortKey(problem: Problem): SortKey {
  const { origin, object } = problem
  const place = origin?.kind === 'file' ? [origin.file, origin.line, origin.column] : ['', 0, 0]
  const named = object ? [object.kind, object.namespace, object.name] : ['', '', '']
  return [...place, ...named, problem.field ?? '', problem.code, problem.message]
}

function compareKeys(a: SortKey, b: SortKey): number {
  for (const [index, left] of a.entries()) {
    const right = b[index]
    if (right !== undefined && left !== right) return left < right ? -1 : 1
  }
  return 0
}
