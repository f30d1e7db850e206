import type { HostEntry } from '@osm-ts/standalone/testing'
import { isPodReady, matches, type Pod, type Service } from './objects.js'

/**
 * The hosts file that stands for the cluster's DNS. Services of the control plane lead to a pod, because nothing here translates their
 * addresses; all other services to their own address, which sidecars take.
 */
export function hostsOf(
  services: readonly Service[],
  pods: readonly Pod[],
  isControlPlane: (namespace: string) => boolean,
): readonly HostEntry[] {
  return services.flatMap((service) => {
    const { name, namespace = '' } = service.metadata
    const { clusterIP = 'None', selector } = service.spec
    const pod = pods.find(
      (candidate) =>
        candidate.metadata.namespace === namespace &&
        selector !== undefined &&
        matches(selector, candidate.metadata.labels) &&
        isPodReady(candidate),
    )
    const direct = isControlPlane(namespace) || clusterIP === 'None'
    const address = direct ? pod?.status?.podIP : clusterIP
    if (address === undefined) return []
    const full = `${name}.${namespace}`
    return [{ address, names: [full, `${full}.svc`, `${full}.svc.cluster.local`] }]
  })
}
