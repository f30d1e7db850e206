import type { MeshObject } from './objects.js'

/** How a switch is written in an annotation, in lower case: the words that OSM reads. */
export const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['enabled', true],
  ['yes', true],
  ['true', true],
  ['disabled', false],
  ['no', false],
  ['false', false],
])

/** Annotation of a Service, or of a namespace for all of its Services: whether the mesh carries calls of the addresses of pods. */
export const POD_ADDRESSES = 'openservicemesh.io/pod-addresses'

/** Words for {@link POD_ADDRESSES}, for messages. */
export const podAddressesWords = [...switchWords.keys()].join(', ')

/** What an object says about calls of the addresses of pods: undefined if nothing, `invalid` if something that is none of the words. */
export function podAddressesSwitch({
  metadata,
}: MeshObject<'Service'> | MeshObject<'Namespace'>): boolean | 'invalid' | undefined {
  const written = Object.hasOwn(metadata.annotations, POD_ADDRESSES) ? metadata.annotations[POD_ADDRESSES] : undefined
  return written === undefined ? undefined : (switchWords.get(written.toLowerCase()) ?? 'invalid')
}
