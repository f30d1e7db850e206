import { setTimeout as sleep } from 'node:timers/promises'

import type { ParticipationReport, Problem, ProxyStatus } from '@osm-ts/core'
import type { Sections, ShownProxy } from '@osm-ts/dashboard'
import { errorMessage, Latest, Wake } from '@osm-ts/driver-api/toolkit'

import { collectFindings } from '../analyze/findings.js'
import { analyzeRunningMesh } from '../analyze/running-mesh.js'
import type { IssuedCertificate } from '../certificates/certificates-report.js'
import { withShortPlaces } from '../spec/short-places.js'
import type { DebugApi } from '../state/debug-api.js'
import { errorMeanings } from '../support/error-meanings.js'
import type { AskedMesh } from './mesh-questions.js'
import { topologyOf } from './topology.js'
import type { ReadTraffic } from './traffic-rates.js'

/** How often the controller is asked while a page is open. */
export const POLL_MS = 2000
/** The objects of the mesh are read again at least this often: roots expire, and files may change without any effect on a proxy. */
const MAX_MODEL_AGE_MS = 30_000

/** How often traffic is read while a page is open. */
const TRAFFIC_MS = 5000

/** Sections of the page as JSON, by name. */
export type SectionTexts = ReadonlyMap<keyof Sections, string>

/** What a watch needs. */
export interface WatchedMesh extends AskedMesh {
  readonly openApi: () => Promise<Pick<DebugApi, 'statuses' | 'participation' | 'pushes' | 'problems' | 'certificates'>>
  readonly policy: DebugApi['policy']
  readonly traffic: ReadTraffic
  readonly mesh: Sections['mesh']
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Keeps the sections of the page up to date while somebody reads them. All readers share one poll; a slow reader skips. */
export class MeshWatch {
  readonly #watched: WatchedMesh
  readonly #sections: Latest<SectionTexts>
  readonly #wake = new Wake()
  readonly #trafficWake = new Wake()
  #proxies: readonly ShownProxy[] = []
  #readers = 0
  /** What the objects were read for last, and when. */
  #modelKey = ''
  #modelReadAt = -Infinity

  constructor(watched: WatchedMesh) {
    this.#watched = watched
    this.#sections = new Latest<SectionTexts>(new Map([['mesh', JSON.stringify(watched.mesh)]]))
  }

  /** Number of readers. */
  get readers(): number {
    return this.#readers
  }

  /** Yields the sections in force, then each newer state of them, until the signal aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<SectionTexts, void, undefined> {
    this.#readers += 1
    this.#wake.notify()
    this.#trafficWake.notify()
    try {
      yield* this.#sections.watch(signal)
    } finally {
      this.#readers -= 1
    }
  }

  /** Polls while there are readers, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#whileRead(this.#wake, POLL_MS, () => this.#refresh(), signal),
      // Apart from the rest, since a sidecar may take long to answer.
      this.#whileRead(this.#trafficWake, TRAFFIC_MS, () => this.#readTraffic(), signal),
    ])
  }

  async #whileRead(wake: Wake, everyMs: number, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#readers === 0) {
        await wake.wait(signal)
        continue
      }
      await work()
      // Rejects when the signal aborts; the loop then ends by its condition.
      await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    }
  }

  async #readTraffic(): Promise<void> {
    // What cannot be read for a while has no traffic to show.
    const edges = await this.#watched.traffic(this.#proxies.filter(({ connected }) => connected)).catch(() => [])
    this.#publish(new Map([['traffic', JSON.stringify(edges)]]))
  }

  /** Tells readers of what is new in these sections. */
  #publish(news: SectionTexts): void {
    const before = this.#sections.current ?? new Map()
    if ([...news].some(([name, text]) => before.get(name) !== text)) this.#sections.set(new Map([...before, ...news]))
  }

  async #refresh(): Promise<void> {
    const news = new Map<keyof Sections, string>()
    const set = <Name extends keyof Sections>(name: Name, value: Sections[Name]): void =>
      void news.set(name, JSON.stringify(value))
    try {
      const api = await this.#watched.openApi()
      const [statuses, participation, pushes, problems, { certificates }] = await Promise.all([
        api.statuses(),
        api.participation(),
        api.pushes(),
        api.problems(),
        api.certificates(),
      ])
      const proxies = shownProxies(statuses, participation, certificates)
      this.#proxies = proxies
      set('proxies', proxies)
      set('pushes', pushes)
      await this.#readObjects(proxies, problems, set)
      set('fault', '')
    } catch (error) {
      set('fault', errorMessage(error))
    }
    this.#publish(news)
  }

  /** What takes a whole mesh to compute is computed again only when something else shows that it may have changed. */
  async #readObjects(
    proxies: readonly ShownProxy[],
    problems: readonly Problem[],
    set: <Name extends keyof Sections>(name: Name, value: Sections[Name]) => void,
  ): Promise<void> {
    const { load, openApi, now, cwd } = this.#watched
    const key = JSON.stringify([
      problems,
      proxies.map(({ name, wantedVersion, services, rejected }) => [name, wantedVersion, services, rejected.length]),
    ])
    if (key === this.#modelKey && now() - this.#modelReadAt < MAX_MODEL_AGE_MS) return
    const model = await load({})
    const running = await load({ running: true })
    const known = await analyzeRunningMesh(openApi, { now: now(), isChanged: false })
    const { findings } = collectFindings([model.problems, known], model.annotationsOf, { suppress: [] })
    set('topology', topologyOf(running, proxies))
    set(
      'problems',
      withShortPlaces(findings, cwd).map((problem) => ({ ...problem, meaning: errorMeanings[problem.code] ?? '' })),
    )
    this.#modelKey = key
    this.#modelReadAt = now()
  }
}

function shownProxies(
  statuses: readonly ProxyStatus[],
  { proxies }: ParticipationReport,
  certificates: readonly IssuedCertificate[],
): readonly ShownProxy[] {
  const expiries = firstExpiries(certificates)
  const keyOf = ({ uuid, name }: { readonly uuid: string; readonly name: string }): string => `${uuid} ${name}`
  const participants = new Map(proxies.map((proxy) => [keyOf(proxy), proxy]))
  return statuses.map((status) => {
    const found = participants.get(keyOf(status))
    // A proxy is called `<uuid>.sidecar.<name of its service certificate>`.
    const expires = expiries.get(found?.commonName.split('.').slice(2).join('.') ?? '')
    return {
      ...status,
      ...(found !== undefined && { participation: found.state }),
      ...(expires !== undefined && { certificateExpires: expires }),
      services: (found?.services ?? []).map(({ namespace, name }) => `${namespace}/${name}`).sort(),
    }
  })
}

/** When the first service certificate of each name expires. */
function firstExpiries(certificates: readonly IssuedCertificate[]): ReadonlyMap<string, string> {
  const service = certificates.filter(({ kind }) => kind === 'service')
  // The last one of a name stays in the map.
  const latestFirst = [...service].sort((one, other) => Date.parse(other.expiration) - Date.parse(one.expiration))
  return new Map(latestFirst.map(({ commonName, expiration }) => [commonName, expiration]))
}
