import { type KubernetesObject, listAll, resourceTypes } from '@osm-ts/kubernetes'

import { meshSelector } from '../mesh-identity.js'
import { webhooksOf } from '../webhooks/write-webhook-configuration.js'
import type { Check, Obstacle } from './check.js'
import { describeMesh, installedMeshes } from './installed-meshes.js'

/** One namespace holds one control plane: Services and accounts have fixed names. */
export const namespaceIsFree: Check = {
  name: 'no mesh in the namespace',
  run: async ({ api, namespace, signal }) => {
    const here = (await installedMeshes(api, signal)).filter((mesh) => mesh.namespace === namespace)
    return here.map((mesh) => ({
      what: `${describeMesh(mesh)} is installed already`,
      advice: `upgrade its release (helm list -n ${mesh.namespace} names it), or choose another namespace`,
    }))
  },
}

/** A mesh may claim the cluster for itself, and so may one that is there. */
export const singleMeshIsKept: Check = {
  name: 'single mesh',
  run: async ({ api, namespace, enforceSingleMesh, signal }) => {
    const others = (await installedMeshes(api, signal)).filter((mesh) => mesh.namespace !== namespace)
    return others.flatMap((mesh): Obstacle[] => {
      if (mesh.enforcesSingleMesh) {
        return [
          {
            what: `${describeMesh(mesh)} was installed as the only mesh of the cluster`,
            advice: `upgrade that mesh with osm.enforceSingleMesh=false, or uninstall it`,
          },
        ]
      }
      if (!enforceSingleMesh) return []
      return [
        {
          what: `this mesh shall be the only one of the cluster, and there is ${describeMesh(mesh)}`,
          advice: 'install with osm.enforceSingleMesh=false, or uninstall the other mesh',
        },
      ]
    })
  },
}

/** The name of a mesh is that of its webhook configurations and of what namespaces are labelled with. */
export const meshNameIsFree: Check = {
  name: 'name of the mesh',
  run: async ({ api, meshName, namespace, signal }) => {
    const namesakes = (await installedMeshes(api, signal)).filter(
      (mesh) => mesh.meshName === meshName && mesh.namespace !== namespace,
    )
    const found: Obstacle[] = namesakes.map((mesh) => ({
      what: `there is ${describeMesh(mesh)}, and both would claim the same namespaces`,
      advice: 'choose another name by osm.meshName',
    }))
    if (namesakes.length > 0) return found
    const types = [resourceTypes.MutatingWebhookConfiguration, resourceTypes.ValidatingWebhookConfiguration]
    for (const type of types) {
      for (const configuration of await listAll(api, type, { labelSelector: meshSelector(meshName) }, signal)) {
        const other = otherNamespace(configuration, namespace)
        if (other === undefined) continue
        found.push({
          what: `${type.kind} ${configuration.metadata.name} of mesh ${JSON.stringify(meshName)} points to namespace ${other}, which has no controller`,
          advice: `if that mesh is gone, delete what it left: kubectl delete ${type.plural} ${configuration.metadata.name}`,
        })
      }
    }
    return found
  },
}

/** Namespace of the Service that a configuration points to, if it is another one. */
function otherNamespace(configuration: KubernetesObject, namespace: string): string | undefined {
  return webhooksOf(configuration)
    .map(({ clientConfig }) => (clientConfig.service as { readonly namespace?: string } | undefined)?.namespace)
    .find((name) => name !== undefined && name !== namespace)
}
