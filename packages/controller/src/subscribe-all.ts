import type { Kind, SnapshotFeed } from '@osm-ts/core'

/** Calls a listener whenever something has changed. The result ends it. */
export type Subscribe = (listener: () => void) => () => void

/** Subscribes to several sources as if they were one. */
export function subscribeAll(sources: readonly Subscribe[]): Subscribe {
  return (listener) => {
    const ends = sources.map((subscribe) => subscribe(listener))
    return () => {
      for (const end of ends) end()
    }
  }
}

/** Changes of objects of these kinds. Most changes of a mesh are of pods, and of no interest to who follows a few objects. */
export function changesOf(feed: SnapshotFeed, kinds: readonly Kind[]): Subscribe {
  const prefixes = kinds.map((kind) => `${kind}/`)
  return (listener) =>
    feed.subscribe(({ changed }) => {
      if (changed.some((key) => prefixes.some((prefix) => key.startsWith(prefix)))) listener()
    })
}
