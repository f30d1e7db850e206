import { readFile } from 'node:fs/promises'
import type { Verdict } from '@osm-ts/oracle'

import type { Outcome } from './differential-mesh.js'
import { ARRIVALS } from './topology.js'

/** How often a request may arrive: attempts and copies together, and at each server. */
export interface Arrivals {
  readonly least: number
  readonly most: number
  readonly mostAt: ReadonlyMap<string, number>
}

/** How often the oracle lets a request arrive whose outcome is known. Where chance decides between servers that take a request and those that refuse it, more than one number is right. */
export function expectedArrivals({ destinations, copies = [], retry }: Verdict, outcome: Outcome): Arrivals {
  const servers = namesOf(destinations)
  const isRepeated = outcome.passed && retry !== undefined && retry.codes.includes(outcome.status ?? 0)
  const attempts = isRepeated ? 1 + retry.attempts : 1
  const isEverywhere = destinations.every(({ allowed }) => allowed)
  // What is refused, or answered by the sidecar of the caller, may have arrived elsewhere before.
  const own = outcome.passed
    ? { least: isEverywhere ? attempts : 1, most: isEverywhere ? attempts : 1 + (retry?.attempts ?? 0) }
    : { least: 0, most: isEverywhere || servers.length === 0 ? 0 : (retry?.attempts ?? 0) }
  const arriving = copies.filter((each) => each.destinations.some(({ allowed }) => allowed))
  const certain = arriving.filter(
    (each) => outcome.passed && each.ofAll && each.destinations.every(({ allowed }) => allowed),
  )
  const mostAt = new Map<string, number>()
  const mayReach = (names: readonly string[], times: number): void => {
    for (const name of new Set(names)) mostAt.set(name, (mostAt.get(name) ?? 0) + times)
  }
  mayReach(servers, own.most)
  for (const each of arriving) mayReach(namesOf(each.destinations), 1)
  return { least: own.least + certain.length, most: own.most + arriving.length, mostAt }
}

function namesOf(destinations: Verdict['destinations']): readonly string[] {
  return destinations.flatMap(({ allowed, account }) => (allowed ? [`${account.namespace}/${account.name}`] : []))
}

/** The servers that have got the request with a mark, each as often as it has. */
export async function arrivalsOf(mark: string): Promise<readonly string[]> {
  const text = await readFile(ARRIVALS, 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => (line.startsWith(`${mark} `) ? [line.slice(mark.length + 1)] : []))
}

/** What is wrong with where a request has arrived; undefined if nothing is, or nothing but that copies are missing. */
export function arrivalsFault(found: readonly string[], { most, mostAt }: Arrivals): string | undefined {
  const text = `${found.length} times: ${found.join(', ')}`
  if (found.length > most) return `the request arrives ${text}, and not at most ${most} times`
  const server = found.find((name) => found.filter((other) => other === name).length > (mostAt.get(name) ?? 0))
  return server === undefined ? undefined : `the request arrives too often at ${server}: ${text}`
}
