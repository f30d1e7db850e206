import { type ResourceType, resourceTypes } from '@osm-ts/kubernetes'

import { isForeign, missingVersions } from '../crds/merge-definition.js'
import type { Check, Obstacle } from './check.js'

/** The oldest that serves everything that the chart brings: autoscaling/v2 and names of namespaces as labels. */
const OLDEST_MINOR = 23

/** The API server has to serve what the mesh is made of. */
export const apiServerIsRecent: Check = {
  name: 'version of the API server',
  run: async ({ api, signal }) => {
    const { major, minor, gitVersion } = ((await api.read('/version', signal)) ?? {}) as {
      readonly major?: string
      readonly minor?: string
      readonly gitVersion?: string
    }
    // Some providers write `28+`.
    const number = Number.parseInt(minor ?? '', 10)
    if (major === '1' && number >= OLDEST_MINOR) return []
    return [
      {
        what: `the API server is ${gitVersion ?? 'of an unknown version'}; the mesh needs Kubernetes 1.${OLDEST_MINOR} or later`,
        advice: 'upgrade the cluster first',
      },
    ]
  },
}

/** Kinds that another tool has brought in a version that the mesh can't read. */
export const definitionsFit: Check = {
  name: 'CustomResourceDefinitions',
  run: async ({ api, definitions, signal }) => {
    const found: Obstacle[] = []
    for (const definition of definitions) {
      const { name } = definition.metadata
      const live = await api.get(resourceTypes.CustomResourceDefinition, { namespace: '', name }, signal)
      if (live === undefined || !isForeign(live)) continue
      const missing = missingVersions(definition, live)
      if (missing.length === 0) continue
      found.push({
        what: `CustomResourceDefinition ${name} belongs to another tool and does not serve ${missing.join(', ')}`,
        advice: `uninstall that tool, or hand the definition over: kubectl label crd ${name} app.kubernetes.io/name=openservicemesh.io`,
      })
    }
    return found
  },
}

/** Without it no certificate would be signed, and no sidecar served. */
export const certManagerIsThere: Check = {
  name: 'cert-manager',
  run: async ({ api, certificateManager, signal }) => {
    if (certificateManager !== 'cert-manager') return []
    const { group, plural, version } = resourceTypes.CertificateRequest
    const name = `${plural}.${group}`
    const definition = await api.get(resourceTypes.CustomResourceDefinition, { namespace: '', name }, signal)
    const { versions = [] } = (definition?.spec ?? {}) as {
      readonly versions?: readonly { readonly name: string; readonly served: boolean }[]
    }
    if (versions.some((each) => each.name === version && each.served)) return []
    return [
      {
        what: `the API server does not serve ${plural} of ${group}/${version}, and certificates are to be signed by cert-manager`,
        advice: 'install cert-manager and the issuer first, or set osm.certificateProvider.kind to tresor or vault',
      },
    ]
  },
}

/** What the checks themselves have to read. */
const needed: readonly (readonly [verb: string, type: ResourceType])[] = [
  ['list', resourceTypes.Deployment],
  ['get', resourceTypes.CustomResourceDefinition],
  ['list', resourceTypes.MutatingWebhookConfiguration],
  ['list', resourceTypes.ValidatingWebhookConfiguration],
]

/** Without these permissions the other checks would see nothing and find nothing wrong. */
export const permissionsAreThere: Check = {
  name: 'permissions',
  run: async ({ api, signal }) => {
    const found: Obstacle[] = []
    for (const [verb, type] of needed) {
      const review = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb, group: type.group, version: type.version, resource: type.plural } },
      }
      const answer = (await api.post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review, signal)) as {
        readonly status?: { readonly allowed?: boolean }
      }
      if (answer.status?.allowed === true) continue
      const group = type.group === '' ? 'the core group' : `group ${type.group}`
      found.push({
        what: `the account of osm-preinstall may not ${verb} ${type.plural} of ${group} in the whole cluster`,
        advice: `grant it by a ClusterRole with verb ${verb} and resource ${type.plural}`,
      })
    }
    return found
  },
}
