import {
  AddressRules,
  allKinds,
  type EndpointsProvider,
  type Enrolment,
  ExternalWorkloads,
  formatObjectRef,
  MeshCatalog,
  type MeshConfig,
  type MeshConfigSpec,
  MeshConfigurator,
  type MeshObject,
  isKind,
  joinProblems,
  makeObjectKey,
  parseMeshDomains,
  type Problem,
  type Snapshot,
  type SnapshotFeed,
  SpecRules,
} from '@osm-ts/core'
import type { MeshService } from '@osm-ts/driver-api'

import type { AnnotationsOf } from '../analyze/findings.js'
import {
  findKeyProblems,
  findNamespaceProblems,
  type KeyedObject,
  type LocateKey,
  type NamespaceRules,
} from '../analyze/mesh-keys.js'
import { assumedEndpoint, assumedWorkloads } from './assumed-endpoints.js'

/** Names by which a mesh goes. */
export interface MeshNaming {
  readonly meshName: string
  readonly osmNamespace: string
  readonly trustDomain: string
  readonly clusterDomain: string
}

/** What a mesh is asked. */
type AskedCatalog = Pick<
  MeshCatalog,
  'decisions' | 'listEndpointsForService' | 'originsOf' | 'part' | 'policyDocument' | 'policyFor' | 'whole'
>

/** A mesh specification as the mesh would understand it. */
export interface MeshModel {
  /** Everything that is wrong with it, sorted by place. */
  readonly problems: readonly Problem[]
  readonly snapshot: Snapshot
  /** The configuration in force, with all its defaults. */
  readonly config: MeshConfig
  /** Answers who may call what, and holds the policies of all proxies. */
  readonly catalog: AskedCatalog
  /** The same for a mesh in which a Service has an endpoint, at an address that no host has. */
  readonly catalogAssuming: (service: MeshService) => AskedCatalog
  /** The same for a mesh in which every Workload runs. */
  readonly catalogRunning: () => AskedCatalog
  /** Which namespaces take part. */
  readonly enrolment: Enrolment
  readonly clusterDomain: string
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** Where an object, or a field of it, is written down. */
  readonly locate: SnapshotFeed['locate']
  /** Annotations of any object that problems speak of; none for one that is not known. */
  readonly annotationsOf: AnnotationsOf
}

/** What differs between a mesh in a folder and one in a cluster. */
export interface MeshKind {
  readonly naming: MeshNaming
  readonly enrolment: Enrolment
  readonly endpointsProviders: readonly EndpointsProvider[]
  /** What holds where the MeshConfig says nothing. */
  readonly preset?: MeshConfigSpec
  /** True: the MeshConfig may lie in any namespace. */
  readonly anyNamespace: boolean
  /** All namespaces of a cluster, and what they are checked against: the mesh reads only its own. */
  readonly namespaces?: NamespaceRules & { readonly all: readonly KeyedObject[] }
}

/** Understands a feed that has started, with the very code that a running mesh uses. */
export function loadMeshModel(feed: SnapshotFeed, kind: MeshKind): MeshModel {
  const { naming, enrolment, preset, anyNamespace } = kind
  const { meshName, osmNamespace } = naming
  const domains = parseMeshDomains(naming)
  const snapshot = feed.current()
  if (snapshot === undefined) throw new Error('a feed that has started holds a snapshot')
  const locate: SnapshotFeed['locate'] = (key, field) => feed.locate(key, field)
  const configurator = new MeshConfigurator({
    meshName,
    osmNamespace,
    domains,
    environment: {},
    ...(preset !== undefined && { preset }),
    anyNamespace,
    current: () => snapshot,
    subscribe: (listener) => feed.subscribe(listener),
    locate,
  })
  const config = configurator.current()
  const external = new ExternalWorkloads({
    rules: new AddressRules({ allowLoopback: enrolment.mode === 'all', refused: [] }),
    current: () => snapshot,
    subscribe: (listener) => feed.subscribe(listener),
    now: () => 0,
  })
  // Nothing of the snapshot changes: what is published at the start holds.
  external.start()()
  const endpointsProviders = [...kind.endpointsProviders, external.provider]
  const catalogOf = (providers: readonly EndpointsProvider[]): MeshCatalog => {
    const made = new MeshCatalog({ meshName, osmNamespace, domains, enrolment, endpointsProviders: providers, locate })
    // Of a first snapshot everything counts as changed. No certificate is issued here, so roots are not needed.
    made.apply({ spec: { snapshot, changed: [] }, config, roots: [] })
    return made
  }
  const catalog = catalogOf(endpointsProviders)
  const keyed = keyedObjects(snapshot, kind.namespaces?.all ?? [])
  const locateKey: LocateKey = ({ kind: name, namespace, name: own }, field) =>
    isKind(name) ? locate(makeObjectKey(name, namespace, own), field) : undefined
  let running: AskedCatalog | undefined
  return {
    problems: joinProblems([
      feed.problems(),
      new SpecRules({
        ...domains,
        osmNamespace,
        crossNamespace: () => config.traffic.crossNamespace,
        gatewayNames: () => config.certificate.ingressGateway?.subjectAltNames ?? [],
        readsRootCertificates: enrolment.mode === 'all',
        locate,
      }).checkAll(snapshot),
      configurator.problems(),
      external.problems(),
      catalog.problems(),
      findKeyProblems(keyed.values(), locateKey),
      kind.namespaces === undefined
        ? []
        : findNamespaceProblems(
            [...keyed.values()].filter((each) => each.kind === 'Namespace'),
            kind.namespaces,
            locateKey,
          ),
    ]),
    snapshot,
    config,
    catalog,
    catalogAssuming: (service) => catalogOf([...endpointsProviders, assumedEndpoint(service)]),
    catalogRunning: () => (running ??= catalogOf([...endpointsProviders, assumedWorkloads(snapshot)])),
    enrolment,
    clusterDomain: domains.clusterDomain,
    osmNamespace,
    locate,
    annotationsOf: (object) => keyed.get(formatObjectRef(object))?.annotations ?? {},
  }
}

/** Objects by what problems call them: those of the snapshot, which a change may have replaced, and namespaces that it does not have. */
function keyedObjects(snapshot: Snapshot, namespaces: readonly KeyedObject[]): ReadonlyMap<string, KeyedObject> {
  const found = new Map(namespaces.map((each) => [formatObjectRef(each), each]))
  // Instances have the labels of their pods, and no annotations.
  const kinds = allKinds().filter((kind) => kind !== 'WorkloadInstance')
  for (const { kind, metadata } of kinds.flatMap((each): readonly MeshObject[] => snapshot.list(each))) {
    const { namespace, name, labels, annotations } = metadata
    const object = { kind, namespace, name, labels, annotations }
    found.set(formatObjectRef(object), object)
  }
  return found
}
