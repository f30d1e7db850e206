import { problemChanges, type Problem } from '@osm-ts/core'

import { type CallSets, type ChangedCallRoute, changedCallRoutes } from './call-routes.js'
import { type Access, meshFacts, type MeshFacts } from './mesh-facts.js'
import type { MeshModel } from '../spec/load-mesh-model.js'

/** A route that goes elsewhere than before. */
export type ChangedRoute = ChangedCallRoute & {
  /** `<namespace>/<service account>` */
  readonly caller: string
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
    access: { gained: accessMissingIn(old, next), lost: accessMissingIn(next, old) },
    routes: changedRoutes(old.calls, next.calls),
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

function accessMissingIn(there: MeshFacts, here: MeshFacts): readonly Access[] {
  return [...here.access]
    .filter(([key]) => !there.access.has(key))
    .sort(byKey)
    .map(([, fact]) => {
      const { part: _part, ...access } = fact
      return { ...access, allowedBy: here.allowedBy(fact) }
    })
}

function changedRoutes(old: MeshFacts['calls'], next: MeshFacts['calls']): readonly ChangedRoute[] {
  const none = (calls: CallSets): CallSets => ({ ...calls, sets: new Set() })
  // Callers of a namespace often have the same sets.
  let last: { readonly key: string; readonly changed: readonly ChangedCallRoute[] } | undefined
  return [...new Map([...old, ...next])].sort(byKey).flatMap(([caller, calls]) => {
    const [was, is] = [old.get(caller) ?? none(calls), next.get(caller) ?? none(calls)]
    const [before, after] = [[...was.sets].sort().join(), [...is.sets].sort().join()]
    if (before === after) return []
    const key = `${before} ${after}`
    if (last?.key !== key) last = { key, changed: changedCallRoutes(was, is) }
    return last.changed.map((route) => ({ caller, ...route }))
  })
}

/** A problem is the same wherever its object is written down now. */
function newFindings(before: readonly Problem[], after: readonly Problem[]): readonly Problem[] {
  const placeless = (problems: readonly Problem[]): readonly Problem[] =>
    problems.map(({ origin: _origin, ...problem }) => problem)
  const { came } = problemChanges(placeless(after), problemChanges(placeless(before), new Set()).current)
  const fresh = new Set(came.map(([, problem]) => JSON.stringify(problem)))
  return after.filter(({ origin: _origin, ...problem }) => fresh.has(JSON.stringify(problem)))
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}
