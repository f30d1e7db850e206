import { switchWords } from './annotation-switch.js'
import type { MeshObject } from './objects.js'

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
