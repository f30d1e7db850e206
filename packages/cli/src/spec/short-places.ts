import { isAbsolute, relative } from 'node:path'

import type { ObjectOrigin, Problem } from '@osm-ts/core'

/** A place as people write it from where they are: `mesh/access.yaml:12:5`. */
export function formatPlace(origin: ObjectOrigin, cwd: string): string {
  if (origin.kind === 'api') return `resource version ${origin.resourceVersion}`
  return `${shortPath(origin.file, cwd)}:${origin.line}:${origin.column}`
}

/** The same problems, with files named from the working directory. */
export function withShortPlaces(problems: readonly Problem[], cwd: string): readonly Problem[] {
  return problems.map((problem) =>
    problem.origin?.kind === 'file'
      ? { ...problem, origin: { ...problem.origin, file: shortPath(problem.origin.file, cwd) } }
      : problem,
  )
}

/** A path as people write it from where they are, unless it leads upwards. What is not a file, such as standard input, has a name instead of a path. */
export function shortPath(file: string, cwd: string): string {
  if (!isAbsolute(file)) return file
  const nearer = relative(cwd, file)
  return nearer === '' || nearer.startsWith('..') ? file : nearer
}
