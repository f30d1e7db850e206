import { joinProblems, type Problem, type SpecErrorCode, type Snapshot } from '@osm-ts/core'

/** Objects with this annotation keep findings of these codes to themselves: a list with commas, `*` at the end of a code for all that begin so. */
const SUPPRESS_ANNOTATION = 'openservicemesh.io/suppress-findings'

/** What an analysis has found. */
export interface Findings {
  /** Sorted by place. */
  readonly findings: readonly Problem[]
  /** Those that an annotation or option suppresses. */
  readonly suppressed: readonly Problem[]
  /** Number of objects that belong to other programs, such as Deployments. */
  readonly foreignObjects: number
}

/** What limits an analysis. */
export interface FindingFilter {
  /** Codes, `*` at the end for all that begin so; suppressed everywhere. */
  readonly suppress: readonly string[]
  /** Only findings about objects of this namespace, and those about no object. */
  readonly namespace?: string | undefined
}

/** Sorts what was found, and takes out what users do not want to hear of. */
export function collectFindings(
  problems: readonly (readonly Problem[])[],
  snapshot: Pick<Snapshot, 'getByKey'>,
  { suppress, namespace }: FindingFilter,
): Findings {
  const all = joinProblems(problems).filter(
    ({ object }) =>
      namespace === undefined || object === undefined || object.namespace === '' || object.namespace === namespace,
  )
  const isForeign = ({ code, severity }: Problem): boolean =>
    code === ('OSM_SPEC_KIND' satisfies SpecErrorCode) && severity === 'warning'
  const ours = all.filter((problem) => !isForeign(problem))
  const isSuppressed = (problem: Problem): boolean =>
    [...suppress, ...annotatedCodes(problem, snapshot)].some((pattern) => matchesCode(pattern, problem.code))
  return {
    findings: ours.filter((problem) => !isSuppressed(problem)),
    suppressed: ours.filter(isSuppressed),
    foreignObjects: all.length - ours.length,
  }
}

function annotatedCodes({ object }: Problem, snapshot: Pick<Snapshot, 'getByKey'>): readonly string[] {
  if (object === undefined) return []
  const key = `${object.kind}/${object.namespace}/${object.name}` as Parameters<Snapshot['getByKey']>[0] // a kind that is not known finds nothing
  const text = snapshot.getByKey(key)?.metadata.annotations[SUPPRESS_ANNOTATION] ?? ''
  return text
    .split(',')
    .map((code) => code.trim())
    .filter((code) => code !== '')
}

function matchesCode(pattern: string, code: string): boolean {
  return pattern.endsWith('*') ? code.startsWith(pattern.slice(0, -1)) : code === pattern
}
