import { proxyKeyOfInstance, type ProxyKey } from '@osm-ts/core'
import { isOsmError } from '@osm-ts/driver-api'
import type { PartHash, ProxyPolicy } from '@osm-ts/driver-api/policy'

import type { MeshModel } from '../spec/load-mesh-model.js'
import type { AskedProxy, DebugApi, ExplainedPolicy } from '../state/debug-api.js'

/**
 * Asks debug servers, which are off by default, and computes policies from the objects of the cluster while they do not answer: by the same code as the
 * controller.
 *
 * @param load - reads the mesh; called once at most
 */
export function debugOrObjects(
  debug: DebugApi,
  load: () => Promise<Pick<MeshModel, 'catalog' | 'snapshot'>>,
): DebugApi {
  let loaded: ReturnType<typeof load> | undefined
  return {
    ...debug,
    policy: async (proxy) => {
      try {
        return await debug.policy(proxy)
      } catch (error) {
        if (!isOsmError(error, 'OSM_CLI_UNREACHABLE')) throw error
        loaded ??= load()
        const policy = policyOf(await loaded, proxy)
        if (policy === undefined) throw error
        return policy
      }
    },
  }
}

function policyOf(
  { catalog, snapshot }: Pick<MeshModel, 'catalog' | 'snapshot'>,
  { uuid, identity }: AskedProxy,
): ExplainedPolicy | undefined {
  const instance = snapshot
    .list('WorkloadInstance')
    .find(({ metadata, spec }) => spec.uuid === uuid && `${spec.serviceAccountName}.${metadata.namespace}` === identity)
  const key: ProxyKey | undefined = instance && proxyKeyOfInstance(instance)
  const policy = key && catalog.policyDocument(key)
  return policy && { ...policy, origins: originsOf(policy, catalog) }
}

function originsOf(policy: ProxyPolicy, catalog: MeshModel['catalog']): NonNullable<ExplainedPolicy['origins']> {
  const hashes = Object.keys(policy.parts) as PartHash[] // the keys of parts are their hashes
  return Object.fromEntries(hashes.map((hash) => [hash, { '': catalog.originsOf(hash) }]))
}
