import type { KubernetesErrorCode } from '@osm-ts/kubernetes'

/** What to do about an API server that did not do what was asked, by the code of the error. */
const hints: Readonly<Partial<Record<KubernetesErrorCode, string>>> = {
  OSM_KUBERNETES_CONFIG: 'select the cluster with --kubeconfig and --context, or with KUBECONFIG',
  OSM_KUBERNETES_CREDENTIALS: 'check that kubectl works with the same kubeconfig',
  OSM_KUBERNETES_UNREACHABLE: 'check that the cluster is running, and that kubectl works with the same kubeconfig',
  OSM_KUBERNETES_UNAUTHORIZED: 'log in to the cluster again, or select another user with --context',
  OSM_KUBERNETES_FORBIDDEN: 'request the permission, or select another user with --context',
  OSM_KUBERNETES_THROTTLED: 'try again in a moment',
}

/** The hint for a code of an error; undefined where there is nothing to say. */
export function clusterHint(code: string): string | undefined {
  return Object.hasOwn(hints, code) ? hints[code as KubernetesErrorCode] : undefined // checked before
}
