import {
  compareProblems,
  formatProblem,
  type MeshCatalog,
  type MeshConfigurator,
  type Problem,
  type SnapshotFeed,
  type SpecRules,
} from '@osm-ts/core'

/** Who finds problems. */
export interface ProblemSources {
  readonly feed: SnapshotFeed
  readonly rules: SpecRules
  readonly configurator: MeshConfigurator
  readonly catalog: MeshCatalog
}

/** Lists everything that is wrong with what users wrote, sorted by place. */
export function problemsOf({ feed, rules, configurator, catalog }: ProblemSources): () => readonly Problem[] {
  return () => {
    const snapshot = feed.current()
    const found = [
      ...feed.problems(),
      ...(snapshot === undefined ? [] : rules.checkAll(snapshot)),
      ...configurator.problems(),
      ...catalog.problems(),
    ]
    // Two of them may find the same thing.
    return [...new Map(found.map((problem) => [formatProblem(problem), problem])).values()].sort(compareProblems)
  }
}
