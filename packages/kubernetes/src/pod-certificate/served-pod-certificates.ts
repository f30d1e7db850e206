import type { KubernetesApi, ResourceType } from '../api.js'
import { inVersion, resourceTypes } from '../resource-types.js'
import { podCertificateVersions } from './pod-certificate-request.js'

/**
 * PodCertificateRequests in the best version that the API server serves; undefined where it serves none: before Kubernetes 1.34, and where their feature gate is off.
 *
 * @throws KubernetesError if the API server does not say
 */
export async function servedPodCertificates(
  api: Pick<KubernetesApi, 'read'>,
  signal: AbortSignal,
): Promise<ResourceType | undefined> {
  const type = resourceTypes.PodCertificateRequest
  for (const version of podCertificateVersions) {
    const served = (await api.read(`/apis/${type.group}/${version}`, signal)) as
      { readonly resources?: readonly { readonly name?: string }[] } | undefined
    if (served?.resources?.some(({ name }) => name === type.plural)) return inVersion(type, version)
  }
  return undefined
}
