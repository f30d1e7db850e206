import { renderSpans, span } from '../output/style.js'
import { renderTable } from '../output/table.js'
import type { MigrationPlan, PlannedWorkload, WorkloadStep } from './plan-migration.js'
import type { MigratedWorkload, MigrationResult } from './run-migration.js'
import { workloadId } from './workloads.js'

const steps: Readonly<Record<WorkloadStep, string>> = {
  restart: 'rolling restart, then wait for its sidecars',
  check: 'has the class already; its sidecars are checked',
  none: 'nothing',
}
const states: Readonly<Record<MigratedWorkload['state'], string>> = {
  migrated: 'migrated',
  unchanged: 'unchanged',
  'put-back': 'in progress when the migration stopped; its template was restored',
  'under-way': 'in progress when the migration stopped; not restored',
  'not-begun': 'not begun',
}

/** Lines of a plan. */
export function renderPlan(plan: MigrationPlan, color: boolean): readonly string[] {
  const { namespace, mesh, to, annotation, workloads, left, obstacles } = plan
  const rows = [
    { what: `Namespace/${namespace}`, pods: '', how: `sidecar class ${annotation.now ?? '(default)'} becomes ${to}` },
    ...workloads.map((workload) => ({
      what: workloadId(workload),
      pods: podsText(workload),
      how: [steps[workload.step], workload.remark].filter(Boolean).join('; '),
    })),
  ]
  return [
    `Plan for namespace [${namespace}] of mesh [${mesh}], to class [${to}]`,
    '',
    ...renderTable(
      [{ title: 'STEP', align: 'right' }, { title: 'OBJECT' }, { title: 'PODS' }, { title: 'ACTION' }],
      rows.map(({ what, pods, how }, index) => [span(String(index + 1)), span(what), span(pods), span(how)]),
      { color },
    ),
    ...section(
      'Not migrated, because no controller recreates them:',
      left.map(({ pod, sidecarClass, owner }) =>
        [`Pod/${pod} of class ${sidecarClass}`, owner === null ? 'stands alone' : `of ${owner}`].join(', '),
      ),
    ),
    ...section('Not supported by the class:', plan.missing.map(missingText)),
    ...section(
      'Obstacles:',
      obstacles.flatMap(({ what, advice }) => [renderSpans([span(what, 'bad')], color), `  ${span(advice).text}`]),
    ),
  ]
}

/** Lines about where a migration has ended. */
export function renderResult(plan: MigrationPlan, result: MigrationResult, color: boolean): readonly string[] {
  const { namespace, to, left } = plan
  const { outcome, annotation, workloads, faults } = result
  const rows = workloads.map(({ kind, name, state }) => [
    span(workloadId({ kind, name })),
    span(states[state], state === 'migrated' ? 'good' : state === 'unchanged' ? 'plain' : 'warn'),
  ])
  return [
    ...renderTable([{ title: 'WORKLOAD' }, { title: 'STATE' }], rows, { color }),
    ...section(
      'Not migrated:',
      left.map(({ pod, sidecarClass, owner }) => `Pod/${pod} of ${owner ?? 'no controller'}, class ${sidecarClass}`),
    ),
    ...section('Could not be restored:', faults),
    '',
    outcome === 'migrated'
      ? `Namespace [${namespace}] successfully migrated to sidecar class [${to}]`
      : `Migration of namespace [${namespace}] to sidecar class [${to}] stopped; new pods get ${annotation === null ? 'the default class' : `class [${annotation}]`}`,
  ]
}

function podsText({ pods }: PlannedWorkload): string {
  const texts = Object.entries(pods).map(([sidecarClass, count]) => `${count} ${sidecarClass || 'without'}`)
  return texts.join(', ') || '-'
}

function missingText({ feature, accepted, hadBefore, security }: MigrationPlan['missing'][number]): string {
  const support = accepted ? (hadBefore ? 'accepted' : 'not supported by the present class either') : 'refused'
  return `${feature}${security ? ' (security)' : ''}: ${support}`
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', title, ...lines.map((line) => `  ${line}`)]
}
