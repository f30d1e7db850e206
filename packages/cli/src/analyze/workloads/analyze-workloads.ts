import type { ObjectOrigin, Problem, SpecErrorCode } from '@osm-ts/core'

import type { InputFiles } from '../../spec/input-files.js'
import type { MeshModel } from '../../spec/load-mesh-model.js'
import { findKeyProblems } from '../mesh-keys.js'
import { checkInjection } from './check-injection.js'
import { checkServices } from './check-services.js'
import { podTexts, readWorkloads, type WrittenWorkload } from './read-workloads.js'

/** Workloads of files, and what is wrong with them. */
export interface AnalyzedWorkloads {
  readonly problems: readonly Problem[]
  readonly workloads: readonly WrittenWorkload[]
}

/** Checks the pods that workloads of files would make, as the injector and the mesh would see them. */
export async function analyzeWorkloads(
  files: InputFiles,
  model: MeshModel,
  signal: AbortSignal,
): Promise<AnalyzedWorkloads> {
  const workloads = await readWorkloads(files)
  const keys = workloads.flatMap(keyProblems)
  const isKnown = (problem: Problem): boolean =>
    keys.some((key) => key.severity === 'error' && key.field === problem.field && key.object === problem.object)
  const { problems } = await checkInjection(workloads, model, signal)
  return {
    // A key that is wrong is said once.
    problems: [...keys, ...problems.filter((each) => !isKnown(each)), ...checkServices(workloads, model)],
    workloads,
  }
}

/** Labels and annotations of the object, which has none that the mesh reads, and of its pods. */
function keyProblems(workload: WrittenWorkload): readonly Problem[] {
  const { object, at, locate, labels, annotations } = workload
  const own = at === '' ? [] : findKeyProblems([{ ...object, labels, annotations }], (_object, field) => locate(field))
  const pod = {
    ...object,
    kind: 'Pod',
    labels: podTexts(workload, 'labels'),
    annotations: podTexts(workload, 'annotations'),
  }
  const ofPods = findKeyProblems([pod], () => undefined).map((problem): Problem => {
    const field = [at, problem.field ?? ''].filter((part) => part !== '').join('.')
    return { ...problem, object, field, origin: locate(field) }
  })
  return [...own, ...ofPods].map((problem) => ({ ...problem, object }))
}

/** Problems without those that say of a workload that its kind is unknown: it was checked. */
export function withoutForeign(
  problems: readonly Problem[],
  workloads: readonly WrittenWorkload[],
): readonly Problem[] {
  const checked = new Set(workloads.map(({ ofKind }) => placeOf(ofKind)))
  return problems.filter(
    ({ code, origin }) => code !== ('OSM_SPEC_KIND' satisfies SpecErrorCode) || !checked.has(placeOf(origin)),
  )
}

function placeOf(origin: ObjectOrigin | undefined): string {
  return origin?.kind === 'file' ? `${origin.file}:${origin.line}:${origin.column}` : ''
}
