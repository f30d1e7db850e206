import type { Problem, ProxyStatus } from '@osm-ts/core'
import type { MeshEvent, ReportedRequest } from '@osm-ts/standalone'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import { withShortPlaces } from '../spec/short-places.js'
import type { LiveView, SeenCertificate } from './live-view.js'
import { SplitLog, type WantedSplit } from './split-log.js'
import { TrafficLog } from './traffic-log.js'

/** How many of the latest notices are shown. */
const shownNotices = 3
/** A standard error line is told as it stands only while a program fails; this many of the latest are kept for that. */
const keptErrorLines = 20

/** What is fixed for a view. */
export interface ObserverOptions {
  readonly folder: string
  /** Files of problems are named from here. */
  readonly cwd: string
  readonly mode: 'explicit' | 'transparent'
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** Gathers what happens in a mesh into one view. */
export class MeshObserver {
  readonly #options: ObserverOptions
  readonly #startedAt: number
  #traffic = new TrafficLog()
  readonly #splits = new SplitLog()
  readonly #requestListeners = new Listeners<ReportedRequest>()
  readonly #errorLines: string[] = []
  #controllerUrl: string | undefined
  #dashboardUrl: string | undefined
  #statuses: readonly ProxyStatus[] = []
  #certificates: ReadonlyMap<string, SeenCertificate> = new Map()
  #elsewhere: ReadonlySet<string> = new Set()
  #problems: readonly Problem[] = []
  #notices: readonly string[] = []

  constructor(options: ObserverOptions) {
    this.#options = options
    this.#startedAt = options.now()
  }

  /** Takes in an event. */
  record(event: MeshEvent): void {
    switch (event.type) {
      case 'request':
        this.#traffic.record(event.request)
        this.#splits.record(event.request)
        this.#requestListeners.notify(event.request)
        return
      case 'problems':
        this.#problems = withShortPlaces(event.problems, this.#options.cwd)
        return
      case 'output':
        if (event.stream === 'stderr') this.#keepErrorLine(`${event.instance}: ${event.line}`)
        return
      case 'workload':
        if (event.state !== 'started') this.#notice(`${event.namespace}/${event.instance} ${event.state}`, event.detail)
        return
      case 'sidecar':
        if (event.state === 'exited')
          this.#notice(`sidecar of ${event.namespace}/${event.instance} exited`, event.detail)
        return
      case 'controller':
        if (event.state === 'exited') this.#notice('controller exited', event.detail)
        return
      case 'progress':
        if (event.state === 'failed') this.#notice(`${event.step} failed`, event.detail)
    }
  }

  /** Calls the listener with every request from now on. The result ends it. */
  onRequest(listener: (request: ReportedRequest) => void): () => void {
    return this.#requestListeners.add(listener)
  }

  setControllerUrl(url: string | undefined): void {
    this.#controllerUrl = url
  }

  setDashboardUrl(url: string): void {
    this.#dashboardUrl = url
  }

  /** @param elsewhere - those of them that this mesh has not started */
  setStatuses(statuses: readonly ProxyStatus[], elsewhere: readonly ProxyStatus[] = []): void {
    this.#statuses = statuses
    this.#elsewhere = new Set(elsewhere.map(({ name }) => name))
  }

  setCertificates(certificates: ReadonlyMap<string, SeenCertificate>): void {
    this.#certificates = certificates
  }

  /** Forgets the requests that were counted so far, and those that began before now. */
  restart(): void {
    this.#traffic = new TrafficLog(this.#options.now())
    this.#splits.restart(this.#options.now())
  }

  setSplits(splits: readonly WantedSplit[]): void {
    this.#splits.want(splits, this.#options.now())
  }

  /** The latest lines of standard error of all processes, for when something went wrong. */
  errorLines(): readonly string[] {
    return this.#errorLines
  }

  view(): LiveView {
    const now = this.#options.now()
    return {
      folder: this.#options.folder,
      mode: this.#options.mode,
      controllerUrl: this.#controllerUrl,
      dashboardUrl: this.#dashboardUrl,
      startedAt: this.#startedAt,
      now,
      traffic: this.#traffic.rows(now),
      splits: this.#splits.splits(),
      proxies: this.#statuses,
      certificates: this.#certificates,
      elsewhere: this.#elsewhere,
      problems: this.#problems,
      notices: this.#notices,
    }
  }

  #notice(what: string, detail: string | undefined): void {
    const time = new Date(this.#options.now()).toISOString().slice(11, 19)
    const text = `${time} ${what}${detail === undefined ? '' : `: ${detail}`}`
    this.#notices = [...this.#notices, text].slice(-shownNotices)
  }

  #keepErrorLine(line: string): void {
    this.#errorLines.push(line)
    if (this.#errorLines.length > keptErrorLines) this.#errorLines.shift()
  }
}
