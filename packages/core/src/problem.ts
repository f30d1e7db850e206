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
