import { splitApexName, type KindMap, type MeshObject } from '@osm-ts/core'
import { ownValue } from '@osm-ts/driver-api/toolkit'
import type { ReportedRequest } from '@osm-ts/standalone'

/** What a TrafficSplit asks for. */
export interface WantedSplit {
  /** `<namespace>/<name>` of the TrafficSplit. */
  readonly name: string
  /** Name of the service that clients call. */
  readonly apex: string
  readonly backends: readonly WantedBackend[]
}

/** A backend of a split. */
export interface WantedBackend {
  readonly service: string
  /** Share of the traffic, 0 to 1. */
  readonly share: number
  /** Names with which the workloads behind the service may sign their answers. */
  readonly servers: readonly string[]
}

/** What became of a split. */
export interface ObservedSplit extends Pick<WantedSplit, 'name' | 'apex'> {
  /** Answers that were counted. */
  readonly sample: number
  /** Since when they were, in milliseconds since 1970: the start, or the last change of the weights. */
  readonly since: number
  readonly backends: readonly (Pick<WantedBackend, 'service' | 'share'> & { readonly answers: number })[]
}

/** The splits that objects of the mesh specification ask for. */
export function wantedSplits(objects: readonly MeshObject[]): readonly WantedSplit[] {
  const all = <K extends MeshObject['kind']>(kind: K): readonly KindMap[K][] =>
    objects.filter((object): object is MeshObject & KindMap[K] => object.kind === kind)
  return all('TrafficSplit').map(({ metadata: { namespace, name }, spec }) => {
    const sum = spec.backends.reduce((total, { weight }) => total + weight, 0)
    return {
      name: `${namespace}/${name}`,
      apex: splitApexName(spec.service),
      backends: spec.backends.map(({ service, weight }) => ({
        service,
        share: sum > 0 ? weight / sum : 0,
        servers: [service, ...workloadsOf(all('Service'), all('Workload'), namespace, service)],
      })),
    }
  })
}

function workloadsOf(
  services: readonly KindMap['Service'][],
  workloads: readonly KindMap['Workload'][],
  namespace: string,
  name: string,
): readonly string[] {
  const service = services.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
  const selector = Object.entries(service?.spec.selector ?? {})
  if (selector.length === 0) return []
  return workloads
    .filter(
      ({ metadata }) =>
        metadata.namespace === namespace && selector.every(([key, value]) => ownValue(metadata.labels, key) === value),
    )
    .map(({ metadata }) => metadata.name)
}

interface Entry {
  readonly wanted: WantedSplit
  readonly since: number
  readonly answers: Map<string, number>
}

/** Counts how traffic is really split. */
export class SplitLog {
  #entries: readonly Entry[] = []

  /** Takes over what is wanted now; where that differs from before, counting restarts. */
  want(splits: readonly WantedSplit[], now: number): void {
    const before = new Map(this.#entries.map((entry) => [entry.wanted.name, entry]))
    this.#entries = splits.map((wanted) => {
      const known = before.get(wanted.name)
      if (known !== undefined && JSON.stringify(known.wanted) === JSON.stringify(wanted)) return known
      return { wanted, since: now, answers: new Map() }
    })
  }

  /** Starts counting again. */
  restart(now: number): void {
    this.#entries = this.#entries.map(({ wanted }) => ({ wanted, since: now, answers: new Map() }))
  }

  record(request: ReportedRequest): void {
    const { target, server, time, durationMs } = request
    if (server === undefined) return
    for (const { wanted, since, answers } of this.#entries) {
      if (target.split('.')[0] !== wanted.apex || time - durationMs < since) continue
      const backend = wanted.backends.find(({ servers }) => servers.includes(server))
      if (backend !== undefined) answers.set(backend.service, (answers.get(backend.service) ?? 0) + 1)
    }
  }

  splits(): readonly ObservedSplit[] {
    return this.#entries.map(({ wanted: { name, apex, backends }, since, answers }) => ({
      name,
      apex,
      sample: [...answers.values()].reduce((sum, count) => sum + count, 0),
      since,
      backends: backends.map(({ service, share }) => ({ service, share, answers: answers.get(service) ?? 0 })),
    }))
  }
}
