import type { ChangeReport } from '@osm-ts/core'

/** A stretch of a push, in milliseconds since its first event. */
export interface PushStage {
  readonly name: 'wait' | 'compute' | 'proxies'
  readonly title: string
  readonly fromMs: number
  readonly toMs: number
}

/** The stretches of a push, one after the other. Without an acknowledgement it ends when the policies are there. */
export function stagesOf({ debounceMs, recomputeMs, ack }: ChangeReport): readonly PushStage[] {
  const computed = debounceMs + recomputeMs
  return [
    { name: 'wait', title: 'waiting for further events', fromMs: 0, toMs: debounceMs },
    { name: 'compute', title: 'computing policies', fromMs: debounceMs, toMs: computed },
    {
      name: 'proxies',
      title: 'until the last acknowledgement',
      fromMs: computed,
      toMs: Math.max(computed, ack.lastMs ?? computed),
    },
  ]
}

/** What a push was caused by: all names that are known, and how many are not. */
export function causesOf({ cause, unnamed }: ChangeReport): readonly string[] {
  const names = [...cause.objects, ...cause.endpoints.map((name) => `endpoints of ${name}`), ...cause.others]
  return [...names, ...(unnamed === 0 ? [] : [`${unnamed} more`])]
}
