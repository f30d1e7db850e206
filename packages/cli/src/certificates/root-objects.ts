import { isRecord } from '@osm-ts/driver-api/toolkit'
import type { KubernetesObject } from '@osm-ts/kubernetes'

import type { Cluster } from '../kubernetes/open-cluster.js'

/** What a provider does in the mesh. */
export type RootRole = 'active' | 'passive' | 'inactive'

/** A condition, if it is about the object as it is now. */
export interface RootCondition {
  readonly isTrue: boolean
  readonly reason: string
  readonly message: string
}

/** A MeshRootCertificate, as far as commands look at it. */
export interface RootObject {
  readonly name: string
  readonly role: RootRole
  readonly trustDomain: string | undefined
  /** Secret of the built-in authority; absent for other providers. */
  readonly secret?: string
  /** `status.state`; absent while the leading controller has not written one. */
  readonly state?: string
  readonly trusted?: RootCondition
  readonly issuing?: RootCondition
  readonly accepted?: RootCondition
}

/** Reads a MeshRootCertificate. */
function readRootObject({ metadata, spec, status }: KubernetesObject): RootObject {
  const { role = 'active', trustDomain, provider } = isRecord(spec) ? spec : {}
  const { state, conditions } = isRecord(status) ? status : {}
  const known: readonly unknown[] = Array.isArray(conditions) ? conditions : []
  const conditionOf = (type: string): RootCondition | undefined => {
    const found = known.filter(isRecord).find((condition) => condition['type'] === type)
    if (found === undefined || found['observedGeneration'] !== metadata.generation) return undefined
    return {
      isTrue: found['status'] === 'True',
      reason: textOf(found['reason']),
      message: textOf(found['message']),
    }
  }
  const [trusted, issuing, accepted] = ['Trusted', 'Issuing', 'Accepted'].map(conditionOf)
  const secret = secretOf(provider)
  return {
    name: metadata.name,
    role: role === 'passive' || role === 'inactive' ? role : 'active',
    trustDomain: typeof trustDomain === 'string' ? trustDomain : undefined,
    ...(secret !== undefined && { secret }),
    ...(typeof state === 'string' && { state }),
    ...(trusted && { trusted }),
    ...(issuing && { issuing }),
    ...(accepted && { accepted }),
  }
}

/** The MeshRootCertificates of a control plane. */
export async function listRootObjects(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  namespace: string,
): Promise<readonly RootObject[]> {
  const { listAll, resourceTypes } = await import('@osm-ts/kubernetes')
  return (await listAll(api, resourceTypes.MeshRootCertificate, { namespace }, signal)).map(readRootObject)
}

/** Changes the role of one, and nothing else of it. */
export async function setRootRole(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  namespace: string,
  name: string,
  role: RootRole,
): Promise<void> {
  const { resourceTypes } = await import('@osm-ts/kubernetes')
  await api.mergePatch(resourceTypes.MeshRootCertificate, { namespace, name }, { spec: { role } }, { signal })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function secretOf(provider: unknown): string | undefined {
  const tresor = isRecord(provider) ? provider['tresor'] : undefined
  const ca = isRecord(tresor) ? tresor['ca'] : undefined
  const secretRef = isRecord(ca) ? ca['secretRef'] : undefined
  const name = isRecord(secretRef) ? secretRef['name'] : undefined
  return typeof name === 'string' ? name : undefined
}
