import { YamlFolderSource } from '@osm-ts/core'

import { wantedSplits, type WantedSplit } from './split-log.js'

/** Reads the TrafficSplits of a folder, now and after every change. Resolves when they were read once; ends with the signal. */
export async function watchSplits(
  folder: string,
  onSplits: (splits: readonly WantedSplit[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const source = new YamlFolderSource({ folder })
  await source.start(signal)
  const tell = (): void => onSplits(wantedSplits(source.objects()))
  source.subscribe(tell)
  tell()
}
