import { proxyKey, parseProxyUUID, type ProxyKey } from '@osm-ts/core'
import { GeneratedMesh, type Manifest, manifests, type Place, readAndWrite } from '@osm-ts/core/testing'
import type { ProxyUUID } from '@osm-ts/driver-api'

/** A mesh with a service `hub` that has one endpoint, which a benchmark moves. */
export interface HubMesh {
  /** What users would write, but for the endpoint. */
  readonly policy: readonly Manifest[]
  /** What a supervisor would write: an instance for each proxy. */
  readonly instances: readonly Manifest[]
  /** The endpoint; `address` counts up from 0. */
  readonly movable: (address: number) => Manifest
  readonly proxies: readonly HubMeshProxy[]
}

/** One proxy of a {@link HubMesh}. */
export interface HubMeshProxy {
  readonly uuid: ProxyUUID
  readonly key: ProxyKey
  readonly account: Place
}

/** How large a mesh is. */
export interface HubMeshSize {
  readonly services: number
  /** Proxies; they run as services in turn. */
  readonly proxies: number
  /** True: every proxy may call the service whose endpoint moves; else only the first one. */
  readonly everyoneCallsHub: boolean
  readonly sidecarClass?: string
}

/** Services that each service may call, besides the hub. */
const CALLS = 5
const hub = { namespace: 'hub', name: 'hub' }
/** What a move of the endpoint changes. */
export const hubAnnouncement = { services: [hub], accounts: [hub] }

/** Generates a mesh with SMI policy. */
export function generateHubMesh(size: HubMeshSize): HubMesh {
  const { services, proxies, everyoneCallsHub, sidecarClass = 'envoy' } = size
  const mesh = new GeneratedMesh({ services, namespaces: 10, calls: CALLS })
  const accounts = Array.from({ length: proxies }, (_, index) => mesh.place(index % services))
  const instances = accounts.map((account, index) => manifests.instance(account, index, { sidecarClass }))
  const matches = readAndWrite.map(({ name }) => name)
  return {
    policy: [
      ...mesh.routeGroups(),
      ...mesh.policies(),
      manifests.routeGroup({ ...hub, name: 'routes' }, readAndWrite),
      manifests.account(hub),
      manifests.service(hub),
      manifests.trafficTarget(hub, mesh.places(everyoneCallsHub ? services : 1), { matches }),
    ],
    instances,
    movable: (address) =>
      manifests.workload(hub, {
        ports: [{ name: 'http', port: 8080 }],
        address: `10.200.${(address >> 8) & 255}.${address & 255}`,
      }),
    proxies: accounts.map((account, index) => {
      const uuid = parseProxyUUID(manifests.uuidOfIndex(index))
      return { uuid, account, key: proxyKey({ uuid, serviceAccount: account }) }
    }),
  }
}
