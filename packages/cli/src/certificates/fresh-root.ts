import { createHash } from 'node:crypto'

import { cliError } from '../errors.js'
import type { Cluster } from '../kubernetes/open-cluster.js'
import type { ControlPlane } from '../kubernetes/control-planes.js'
import type { RootObject } from './root-objects.js'

const DEFAULT_SECRET = 'osm-ca-bundle'
/** The controller may read these Secrets and no others. */
const NEXT = '-next'

/**
 * Makes a root for the built-in authority: a Secret with its key, and a passive MeshRootCertificate that names it.
 *
 * @returns name of the MeshRootCertificate
 * @throws OsmError `OSM_CLI_ROTATION` if objects name both Secrets that the controller reads, whatever their roles
 */
export async function makeFreshRoot(
  { api, signal }: Pick<Cluster, 'api' | 'signal'>,
  { namespace, meshName, flags }: Pick<ControlPlane, 'namespace' | 'meshName' | 'flags'>,
  roots: readonly RootObject[],
): Promise<string> {
  const { apiVersionOf, meshObjectLabels, resourceTypes } = await import('@osm-ts/kubernetes')
  const { generateRoot } = await import('@osm-ts/core')
  const secret = freeSecret(flags['ca-bundle-secret-name'] ?? DEFAULT_SECRET, roots)
  const { certificate, privateKey } = await generateRoot('workload', { algorithm: 'ECDSA' }, Date.now())
  await api.delete(resourceTypes.Secret, { namespace, name: secret }, { signal })
  await api.create(
    resourceTypes.Secret,
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name: secret, labels: { ...meshObjectLabels(meshName), meshName } },
      type: 'Opaque',
      immutable: true,
      data: { 'ca.crt': btoa(certificate), 'private.key': btoa(privateKey) },
    },
    { signal },
  )
  const type = resourceTypes.MeshRootCertificate
  const name = `${secret}-${createHash('sha256').update(certificate).digest('hex').slice(0, 8)}`
  const trustDomain = roots.find(({ role }) => role === 'active')?.trustDomain
  await api.create(
    type,
    {
      apiVersion: apiVersionOf(type),
      kind: type.kind,
      metadata: { namespace, name },
      spec: {
        role: 'passive',
        ...(trustDomain !== undefined && { trustDomain }),
        provider: { tresor: { ca: { secretRef: { name: secret, namespace } } } },
      },
    },
    { signal },
  )
  return name
}

/** Of two Secrets one signs, or has signed; the other one is free unless an object names it. Its key is gone once another root is in its place. */
function freeSecret(base: string, roots: readonly RootObject[]): string {
  const candidates = [`${base}${NEXT}`, base]
  const free = candidates.find((name) => !roots.some(({ secret }) => secret === name))
  if (free !== undefined) return free
  const inactive = roots.find(
    ({ role, secret = '' }) =>
      role === 'inactive' &&
      candidates.includes(secret) &&
      !roots.some((other) => other.secret === secret && other.role !== 'inactive'),
  )
  if (inactive !== undefined) {
    const { name, secret } = inactive
    throw cliError(
      'OSM_CLI_ROTATION',
      `MeshRootCertificate ${name} is inactive and names Secret ${secret}, which a fresh root would replace`,
      `delete MeshRootCertificate ${name} if its root is not needed again, or set its role to passive and name it to have it sign`,
    )
  }
  throw cliError(
    'OSM_CLI_ROTATION',
    `the Secrets ${base} and ${base}${NEXT} are both in use by MeshRootCertificates that are active or passive`,
    'name the passive one to have it sign, or delete it when it has no certificates in force; see osm certificate status',
  )
}
