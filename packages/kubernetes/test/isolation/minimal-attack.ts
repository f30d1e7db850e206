import { stringify } from 'yaml'

import type { Manifest } from './manifest.js'
import type { Scenario } from './scenario.js'

const MAX_FAULTS = 6

/** Leaves out objects, then fields of the attack, while something still changes for others that must not. */
export function minimalAttack(scenario: Scenario, violates: (scenario: Scenario) => boolean): Scenario {
  let smallest = scenario
  const keep = (candidate: Scenario): boolean => {
    if (!violates(candidate)) return false
    smallest = candidate
    return true
  }
  for (const list of ['attack', 'mesh'] as const)
    for (const object of scenario[list].toReversed())
      keep({ ...smallest, [list]: smallest[list].filter((each) => each !== object) })
  for (let index = 0; index < smallest.attack.length; index += 1)
    simplify(smallest.attack[index]?.spec, (spec) => {
      const attack = smallest.attack.map((object, at): Manifest => (at === index ? { ...object, spec } : object))
      return keep({ ...smallest, attack })
    })
  return smallest
}

/** Leaves out one member after the other, those within members too. */
function simplify(value: unknown, keep: (simpler: unknown) => boolean): void {
  if (value === null || typeof value !== 'object') return
  let current: unknown = value
  const attempt = (simpler: unknown): void => {
    if (keep(simpler)) current = simpler
  }
  for (const key of Object.keys(value).toReversed()) {
    attempt(without(current, key))
    if (!Object.hasOwn(current as object, key)) continue
    simplify((current as Readonly<Record<string, unknown>>)[key], (member) => {
      const simpler = withMember(current, key, member)
      if (!keep(simpler)) return false
      current = simpler
      return true
    })
  }
}

function without(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value.filter((_, index) => String(index) !== key)
  return Object.fromEntries(Object.entries(value as object).filter(([name]) => name !== key))
}

function withMember(value: unknown, key: string, member: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown, index) => (String(index) === key ? member : each))
  return { ...(value as object), [key]: member }
}

/** A scenario and what is wrong with it, for people. */
export function describeAttack({ attacker, mesh, attack }: Scenario, faults: readonly string[]): string {
  const shown = mesh.filter(({ kind }) => kind !== 'Namespace')
  const told = faults.slice(0, MAX_FAULTS)
  return [
    `what namespace ${attacker} adds changes something for others:`,
    ...told,
    ...(faults.length > told.length ? [`and ${faults.length - told.length} more`] : []),
    `# the mesh\n${asYaml(shown)}`,
    `# what ${attacker} adds\n${asYaml(attack)}`,
  ].join('\n')
}

function asYaml(manifests: readonly Manifest[]): string {
  return manifests.map((manifest) => stringify(manifest)).join('---\n')
}
