import {
  compareProblems,
  formatProblem,
  isKind,
  isMonitored,
  kindDefinitions,
  MeshCatalog,
  MeshConfigurator,
  parseMeshDomains,
  SnapshotEndpointsProvider,
  SnapshotFeed,
  SpecRules,
  standalonePreset,
  YamlFolderSource,
  type Problem,
  type MeshConfig,
  type Snapshot,
} from '@osm-ts/core'
import { Oracle } from '@osm-ts/oracle'

/** Names by which a mesh on one machine goes. */
export interface MeshNaming {
  readonly meshName: string
  readonly osmNamespace: string
  readonly trustDomain: string
  readonly clusterDomain: string
}

/** Names of a mesh that runs without Kubernetes. */
export const standaloneNaming = {
  meshName: 'osm',
  osmNamespace: 'osm-system',
  trustDomain: 'cluster.local',
  clusterDomain: 'cluster.local',
} as const satisfies MeshNaming

/** A folder as the mesh would understand it. */
export interface LoadedFolder {
  /** Everything that is wrong with it, sorted by place. */
  readonly problems: readonly Problem[]
  readonly snapshot: Snapshot
  /** Answers who may call what. */
  readonly catalog: Pick<MeshCatalog, 'decide'>
  /** Answers what may leave the mesh and come into it, with none of the mesh's code. */
  readonly oracle: Oracle
  /** Where an object, or a field of it, is written down. */
  readonly locate: SnapshotFeed['locate']
}

/** Reads a folder once, with the very code that a running mesh uses. Nothing is started. */
export async function loadFolder(folder: string, naming: MeshNaming, signal: AbortSignal): Promise<LoadedFolder> {
  const { meshName, osmNamespace } = naming
  const domains = parseMeshDomains(naming)
  const reading = new AbortController()
  const feed = new SnapshotFeed([new YamlFolderSource({ folder })])
  const current = (): Snapshot | undefined => feed.current()
  const subscribe: SnapshotFeed['subscribe'] = (listener) => feed.subscribe(listener)
  const locate: SnapshotFeed['locate'] = (key, field) => feed.locate(key, field)
  try {
    await feed.start(AbortSignal.any([signal, reading.signal]))
    const snapshot = feed.current()
    if (snapshot === undefined) throw new Error('a feed that has started holds a snapshot')
    const configurator = new MeshConfigurator({
      meshName,
      osmNamespace,
      domains,
      environment: {},
      preset: standalonePreset,
      anyNamespace: true,
      current,
      subscribe,
      locate,
    })
    const catalog = new MeshCatalog({
      meshName,
      domains,
      // As the controller of a folder has it: every namespace takes part that is not ignored.
      enrolment: { mode: 'all' },
      endpointsProviders: [new SnapshotEndpointsProvider({ id: 'folder', current: () => snapshot, subscribe })],
      locate,
    })
    // Of a first snapshot everything counts as changed. No certificate is issued here, so nobody asks for roots.
    catalog.apply({ spec: { snapshot, changed: [] }, config: configurator.current(), roots: [] })
    return {
      problems: sorted([
        ...feed.problems(),
        ...new SpecRules({ ...domains, locate }).checkAll(snapshot),
        ...configurator.problems(),
        ...catalog.problems(),
      ]),
      snapshot,
      catalog,
      oracle: oracleOf(snapshot, configurator.current(), domains.clusterDomain),
      locate,
    }
  } finally {
    reading.abort()
  }
}

/** The oracle is given the configuration in force, with all its defaults. */
function oracleOf(snapshot: Snapshot, { traffic, featureFlags }: MeshConfig, clusterDomain: string): Oracle {
  const kinds = Object.keys(kindDefinitions).filter(isKind)
  const objects = kinds.flatMap((kind) => (kind === 'MeshConfig' ? [] : snapshot.list(kind)))
  const config = { kind: 'MeshConfig', metadata: { name: 'in-force' }, spec: { traffic, featureFlags } }
  return new Oracle([...objects, config], {
    participates: (namespace) => isMonitored(snapshot, namespace, { mode: 'all' }),
    clusterDomain,
  })
}

/** Each problem once, by place. */
function sorted(problems: readonly Problem[]): readonly Problem[] {
  return [...new Map(problems.map((problem) => [formatProblem(problem), problem])).values()].sort(compareProblems)
}
