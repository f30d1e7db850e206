import { setImmediate as nextTurn } from 'node:timers/promises'

import {
  type CatalogUpdate,
  type CertificateManager,
  type ChangeCause,
  type LoopWatch,
  type MeshCatalog,
  type MeshConfigurator,
  type PushLog,
  Recompute,
  type SecretSource,
  type Snapshot,
  type SnapshotFeed,
  systemClock,
} from '@osm-ts/core'

/** Policies are computed for so long before others have their turn. Milliseconds. */
const TURN_MS = 10

/** What {@link followMesh} joins. */
export interface FollowOptions {
  readonly catalog: MeshCatalog
  readonly feed: SnapshotFeed
  readonly configurator: MeshConfigurator
  readonly certificates: CertificateManager
  readonly secrets: SecretSource
  readonly pushes: PushLog
  readonly loop: LoopWatch
  /** Told of every recomputation: how long it took, and for how many proxies it changed something. */
  readonly onRecomputed: (milliseconds: number, changed: number) => void
  /** Told of what a recomputation threw. */
  readonly onFault: (error: unknown) => void
  readonly signal: AbortSignal
}

/** What {@link followMesh} runs. */
export interface FollowedMesh {
  /** True if the policies in force follow from everything that was read. */
  readonly settled: () => boolean
  /** The objects from which the policies in force were computed; undefined before there are any. */
  readonly computed: () => Snapshot | undefined
  /** Resolves when it has ended. */
  readonly stopped: Promise<void>
}

/**
 * Brings everything that policies depend on into the catalog: objects, endpoints, configuration and roots. Ends with the signal.
 */
export function followMesh(options: FollowOptions): FollowedMesh {
  const { catalog } = options
  let computed: Snapshot | undefined
  const recompute = new Recompute(async (update, waitedMs) => {
    await takeIn(options, update, waitedMs)
    if (catalog.settled) computed = update.spec?.snapshot ?? computed
  }, systemClock)
  return {
    settled: () => catalog.ready && recompute.idle && catalog.settled,
    computed: () => computed,
    stopped: follow(options, recompute),
  }
}

async function follow(options: FollowOptions, recompute: Recompute): Promise<void> {
  const { catalog, feed, configurator, certificates, secrets, signal } = options
  const snapshot = feed.current()
  const config = configurator.current()
  const roots = certificates.trustBundle('workload')
  recompute.add({
    config,
    roots,
    secrets: secrets.states(),
    ...(snapshot === undefined ? {} : { spec: { snapshot, changed: [] } }),
  })
  const ends = [
    feed.subscribe((spec) => {
      recompute.add({ spec })
    }),
    catalog.endpoints.announcements((announcement) => {
      recompute.add({ endpoints: announcement })
    }),
    secrets.subscribe(() => {
      recompute.add({ secrets: secrets.states() })
    }),
    configurator.subscribe(({ after }) => {
      recompute.add({ config: after })
    }),
  ]
  try {
    for await (const announcement of certificates.subscribe(signal)) {
      if (announcement.type === 'rootChanged' || announcement.type === 'missed')
        recompute.add({ roots: certificates.trustBundle('workload') })
    }
  } finally {
    for (const end of ends) end()
    await recompute.close()
  }
}

/**
 * Takes an update in, in as many turns of the event loop as it needs. A fault of ours is told: policies that were computed before stay in force where it
 * strikes, and the next update is taken as any other.
 */
async function takeIn(options: FollowOptions, update: CatalogUpdate, waitedMs: number): Promise<void> {
  const { catalog, pushes, loop, onFault, signal } = options
  const start = performance.now()
  const running = pushes.begin(causeOf(update), waitedMs)
  const partsBefore = computedParts(catalog)
  let changed = 0
  const turn = (work: () => void): void => {
    try {
      running.during(() => {
        loop.run('recompute', work)
      })
    } catch (error) {
      onFault(error)
    }
  }
  turn(() => {
    catalog.take(update)
  })
  do {
    const turnEnd = performance.now() + TURN_MS
    turn(() => {
      changed += catalog.settle(() => performance.now() < turnEnd).length
    })
    // What is told of these policies goes out before the next are computed.
    if (!catalog.settled) await nextTurn()
  } while (!catalog.settled && !signal.aborted)
  options.onRecomputed(performance.now() - start, changed)
  running.end({ parts: computedParts(catalog) - partsBefore, changed })
}

/** What an update is about, by name. */
function causeOf({ spec, endpoints, config, roots, secrets }: CatalogUpdate): ChangeCause {
  const services = (endpoints?.services ?? []).map(({ namespace, name }) => `Service/${namespace}/${name}`)
  const accounts = (endpoints?.accounts ?? []).map(({ namespace, name }) => `ServiceAccount/${namespace}/${name}`)
  const others = Object.entries({ config, roots, secrets }).flatMap(([name, value]) =>
    value === undefined ? [] : [name],
  )
  return { objects: spec?.changed ?? [], endpoints: [...new Set([...services, ...accounts])], others }
}

/** Parts that were computed since the start. */
function computedParts(catalog: MeshCatalog): number {
  let parts = 0
  for (const [query, { computed }] of catalog.counters()) if (query.endsWith('-part')) parts += computed
  return parts
}
