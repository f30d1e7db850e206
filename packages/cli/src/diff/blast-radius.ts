import { problemChanges, type Problem } from '@osm-ts/core'

import { meshFacts, type Access, type MeshFacts, type Route } from './mesh-facts.js'
import type { MeshModel } from '../spec/load-mesh-model.js'

/** A route that goes elsewhere than before. */
export type ChangedRoute = Omit<Route, 'targets'> & {
  /** Absent where there was none. */
  readonly before?: string
  /** Absent where there is none any more. */
  readonly after?: string
}

/** What a change does to a mesh. */
export interface BlastRadius {
  readonly access: { readonly gained: readonly Access[]; readonly lost: readonly Access[] }
  readonly routes: readonly ChangedRoute[]
  readonly proxies: {
    /** Number of proxies after the change. */
    readonly total: number
    /** Those that get another policy, `<namespace>/<instance>`; sorted. */
    readonly changed: readonly string[]
  }
  readonly findings: { readonly new: readonly Problem[]; readonly resolved: readonly Problem[] }
}

type ComparedModel = Pick<MeshModel, 'snapshot' | 'catalog' | 'problems'>

/** Compares a mesh with what a change would make of it. */
export function blastRadius(before: ComparedModel, after: ComparedModel): BlastRadius {
  const [old, next] = [meshFacts(before), meshFacts(after)]
  return {
    access: { gained: missingIn(old.access, next.access), lost: missingIn(next.access, old.access) },
    routes: changedRoutes(old.routes, next.routes),
    proxies: {
      total: next.versions.size,
      changed: [...next.versions.keys()].filter((proxy) => old.versions.get(proxy) !== next.versions.get(proxy)).sort(),
    },
    findings: {
      new: newFindings(before.problems, after.problems),
      resolved: newFindings(after.problems, before.problems),
    },
  }
}

/** True if nothing differs. */
export function isWithoutEffect({ access, routes, proxies, findings }: BlastRadius): boolean {
  return [access.gained, access.lost, routes, proxies.changed, findings.new, findings.resolved].every(
    (list) => list.length === 0,
  )
}

function missingIn<T>(there: ReadonlyMap<string, T>, here: ReadonlyMap<string, T>): readonly T[] {
  return [...here]
    .filter(([key]) => !there.has(key))
    .sort(byKey)
    .map(([, value]) => value)
}

function changedRoutes(old: MeshFacts['routes'], next: MeshFacts['routes']): readonly ChangedRoute[] {
  return [...new Map([...old, ...next])].sort(byKey).flatMap(([key, { caller, destination, request }]) => {
    const [was, is] = [old.get(key)?.targets, next.get(key)?.targets]
    if (was === is) return []
    return [
      {
        caller,
        destination,
        request,
        ...(was !== undefined && { before: was }),
        ...(is !== undefined && { after: is }),
      },
    ]
  })
}

/** A problem is the same wherever its object is written down now. */
function newFindings(before: readonly Problem[], after: readonly Problem[]): readonly Problem[] {
  const placeless = (problems: readonly Problem[]): readonly Problem[] =>
    problems.map(({ origin: _origin, ...problem }) => problem)
  const { came } = problemChanges(placeless(after), problemChanges(placeless(before), new Set()).standing)
  const fresh = new Set(came.map(([, problem]) => JSON.stringify(problem)))
  return after.filter(({ origin: _origin, ...problem }) => fresh.has(JSON.stringify(problem)))
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
