import { ObjectDecoder } from '../../src/spec/object-decoder.js'
import type { MeshObject } from '../../src/spec/index.js'
import { instancesOf } from '../catalog/mesh-fixture.js'
import { account, type Manifest, type Place, routeGroup, service, trafficTarget, workload } from './manifests.js'

/** How large a mesh is, and how its objects are named. */
export interface MeshShape {
  readonly services: number
  /** Services belong to namespaces in turn. */
  readonly namespaces: number
  /** Services that each service may call: those that follow it. */
  readonly calls: number
  /** Name of the service of a number; `svc-<number>` if absent. */
  readonly serviceName?: (index: number) => string
  /** Name of the namespace of a number; `ns-<number>` if absent. */
  readonly namespaceName?: (index: number) => string
}

/** Routes that every service of a {@link GeneratedMesh} serves, unless its user writes others. */
export const readAndWrite = [
  { name: 'read', pathRegex: '/api/.*', methods: ['GET'] },
  { name: 'write', pathRegex: '/api/items', methods: ['POST'] },
] as const

/**
 * A mesh of any size, for benchmarks and tests of large meshes. Its services stand in a ring: service `i` may call services `i + 1` to `i + calls`. Each has
 * an account and a workload of its own name.
 *
 * It decides names, and who calls whom. Its user adds what runs the workloads, and further services, with the builders of manifests.ts.
 */
export class GeneratedMesh {
  readonly shape: MeshShape

  constructor(shape: MeshShape) {
    this.shape = shape
  }

  /** Names of the namespaces. */
  get namespaces(): readonly string[] {
    return Array.from({ length: this.shape.namespaces }, (_, index) => this.#namespaceOf(index))
  }

  /** Name and namespace of a service, of its account and of its workload. */
  place(index: number): Place {
    const { serviceName = (n) => `svc-${n}` } = this.shape
    return { namespace: this.#namespaceOf(index), name: serviceName(index) }
  }

  /** The first services; all of them if no number is given. */
  places(count = this.shape.services): readonly Place[] {
    return Array.from({ length: count }, (_, index) => this.place(index))
  }

  /** The services that may call the service of that number. */
  callersOf(index: number): readonly Place[] {
    const { services, calls } = this.shape
    return Array.from({ length: calls }, (_, step) => this.place((index + services - 1 - step) % services))
  }

  /** The routes of all services, once in each namespace. */
  routeGroups(matches: readonly object[] = readAndWrite): readonly Manifest[] {
    return this.namespaces.map((namespace) => routeGroup({ namespace, name: 'routes' }, matches))
  }

  /** Account and Service of each service, and who may call it on which of its routes. */
  policies(routes: readonly string[] = readAndWrite.map(({ name }) => name)): readonly Manifest[] {
    return this.places().flatMap((place, index) => [
      account(place),
      service(place),
      trafficTarget(place, this.callersOf(index), { matches: routes }),
    ])
  }

  #namespaceOf(index: number): string {
    const { namespaces, namespaceName = (n) => `ns-${n}` } = this.shape
    return namespaceName(index % namespaces)
  }
}

const decoders = { user: new ObjectDecoder('user'), runtime: new ObjectDecoder('runtime') }

/**
 * Decodes objects as if they were read from a file. Instances are taken as written by a supervisor, all others as written by a user.
 *
 * @throws Error if an object is invalid
 */
export function decodeManifests(manifests: readonly Manifest[]): readonly MeshObject[] {
  const origin = { kind: 'file', file: 'generated', line: 1, column: 1 } as const
  const context = { origin, defaultNamespace: 'default', locate: () => origin, sourceText: () => undefined }
  return manifests.map((each) => {
    const decoder = each.kind === 'WorkloadInstance' ? decoders.runtime : decoders.user
    const { object, problems } = decoder.decode(each, context)
    if (object === undefined) throw new Error(`the generated mesh is wrong: ${problems[0]?.message ?? each.kind}`)
    return object
  })
}

/** A {@link GeneratedMesh} of services with addresses and one route, and instances as a supervisor starts them. */
export function largeMesh(size: {
  readonly services: number
  readonly namespaces: number
  /** Services that each workload may call. */
  readonly reach: number
  readonly replicas?: number
}): readonly MeshObject[] {
  const { services, namespaces, reach, replicas = 1 } = size
  const mesh = new GeneratedMesh({
    services,
    namespaces,
    calls: reach,
    serviceName: (index) => `s${String(index).padStart(4, '0')}`,
    namespaceName: (index) => `n${index}`,
  })
  const manifests = mesh.places().flatMap((place, index) => {
    const clusterIP = `10.96.${Math.floor(index / 250)}.${(index % 250) + 1}`
    return [
      service(place, {}, { clusterIP }),
      workload(place, { replicas }),
      trafficTarget(place, mesh.callersOf(index)),
    ]
  })
  const routes = mesh.routeGroups([{ name: 'read', pathRegex: '/api/.*', methods: ['GET'] }])
  const objects = decodeManifests([...manifests, ...routes])
  const workloads = objects.filter((object) => object.kind === 'Workload')
  return [...objects, ...workloads.flatMap((object, index) => instancesOf(object, index))]
}
