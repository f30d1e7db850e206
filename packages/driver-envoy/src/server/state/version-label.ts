import { contentVersion } from '../../resources/encoded-resource.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'

/** Separates the content hash of a version from what is only written down in it. No hash holds it. */
const SEPARATOR = '~'
const ID_LENGTH = 8
const MAX_EPOCHS = 64
const MAX_EPOCH_LENGTH = 16

/** Drain epochs by shortened id of the inbound part. */
export type LabelledEpochs = ReadonlyMap<string, string>

/** The form in which the id of an inbound part is in a label. */
export function labelId(inboundId: string): string {
  return contentVersion(inboundId).slice(0, ID_LENGTH)
}

/**
 * Writes drain epochs into a version, so that the proxy brings them along when it reconnects: a controller that has just started then translates to
 * the same listeners as the one before, and no connection is drained for its sake.
 */
export function versionLabel(epochs: ReadonlyMap<string, string>): string {
  return [...epochs]
    .slice(0, MAX_EPOCHS)
    .map(([id, epoch]) => `${SEPARATOR}${labelId(id)}.${epoch}`)
    .sort()
    .join('')
}

/** The content hash of a version. */
export function versionHash(version: string): string {
  const end = version.indexOf(SEPARATOR)
  return end === -1 ? version : version.slice(0, end)
}

/** The epochs that are in a version. What is malformed is left out: the proxy can change nothing but its own connections by it. */
export function epochsOf(version: string): LabelledEpochs {
  const epochs = new Map<string, string>()
  for (const entry of version.split(SEPARATOR).slice(1, MAX_EPOCHS + 1)) {
    const [id = '', epoch = ''] = entry.split('.')
    const valid = id.length === ID_LENGTH && epoch.length <= MAX_EPOCH_LENGTH && /^[\w-]+$/.test(epoch)
    if (valid) epochs.set(id, epoch)
  }
  return epochs
}

/** Sources of routes that decide who is let in. */
const servedKinds: ReadonlySet<string> = new Set(['inbound', 'ingress'])

/** Ids of the served ports whose rules are in a resource. */
export function servedIds({ sources }: EncodedResource): readonly string[] {
  return sources.filter(({ kind }) => servedKinds.has(kind)).map(({ id }) => id)
}

/**
 * Stands for the rules of all served ports. The version of a state-of-the-world response covers every route, so that a change of an outbound route could
 * not be told from one that withdraws access; this can.
 */
export function rulesLabel(routes: ResourceSet): string {
  return contentLabel([...routes].filter((route) => servedIds(route).length > 0))
}

/** Stands for the roots that peers are verified against, in versions that cover the proxy's own certificate as well. */
export function rootsLabel(roots: EncodedResource): string {
  return `${SEPARATOR}${roots.version.slice(0, ID_LENGTH)}`
}

/** Stands for the callers of all TCP ports, in the same versions. */
export function callersLabel(callers: readonly EncodedResource[]): string {
  return contentLabel(callers)
}

function contentLabel(resources: readonly EncodedResource[]): string {
  const digest = contentVersion(resources.map(({ name, version }) => `${name}\0${version}\0`).join(''))
  return `${SEPARATOR}${digest.slice(0, ID_LENGTH)}`
}

/** What is behind the hash of a version. */
export function versionTail(version: string): string {
  return version.slice(versionHash(version).length)
}
