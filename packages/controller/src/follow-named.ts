import type { Kind, MeshConfigurator, Snapshot, SnapshotFeed } from '@osm-ts/core'

import { changesOf, subscribeAll } from './subscribe-all.js'

/** What {@link followNamed} joins. */
export interface FollowNamedOptions {
  readonly feed: SnapshotFeed
  readonly configurator: MeshConfigurator
  /** Kinds whose objects change what is named. */
  readonly kinds: readonly Kind[]
  /** Names what policies need to where it is read. */
  readonly follow: (snapshot: Snapshot) => void
  /** Resolves when what is needed now was read. */
  readonly settled: (signal: AbortSignal) => Promise<void>
  readonly signal: AbortSignal
}

/**
 * Names what policies need to where it is read, now and whenever something else is needed. Resolves when what is needed now was read: what a proxy or a
 * gateway had must not be taken from it for a moment by a controller that starts again.
 */
export async function followNamed({
  feed,
  configurator,
  kinds,
  follow,
  settled,
  signal,
}: FollowNamedOptions): Promise<void> {
  const again = (): void => {
    const snapshot = feed.current()
    if (snapshot !== undefined) follow(snapshot)
  }
  const end = subscribeAll([changesOf(feed, kinds), (listener) => configurator.subscribe(listener)])(again)
  signal.addEventListener('abort', end)
  again()
  await settled(signal)
}
