import type { KubernetesErrorCode } from '@osm-ts/core'

/** What to do about an API server that did not do what was asked, by the code of the error. */
const hints: Readonly<Partial<Record<KubernetesErrorCode, string>>> = {
  OSM_KUBERNETES_CONFIG: 'name the cluster with --kubeconfig and --context, or by KUBECONFIG as for kubectl',
  OSM_KUBERNETES_CREDENTIALS: 'see whether kubectl works with the same kubeconfig',
  OSM_KUBERNETES_UNREACHABLE: 'see whether the cluster runs, and whether kubectl reaches it with the same kubeconfig',
  OSM_KUBERNETES_UNAUTHORIZED: 'log in to the cluster again, or choose another user of the kubeconfig with --context',
  OSM_KUBERNETES_FORBIDDEN: 'ask for the role, or choose another user of the kubeconfig with --context',
  OSM_KUBERNETES_THROTTLED: 'try again in a moment',
}

/** The hint for a code of an error; undefined where there is nothing to say. */
export function clusterHint(code: string): string | undefined {
  return Object.hasOwn(hints, code) ? hints[code as KubernetesErrorCode] : undefined // checked before
}
