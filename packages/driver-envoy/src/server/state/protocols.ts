import { egressDrainIdOfRoutes } from '../../resources/drain-ids.js'
import type { EncodedResource, ResourceSet } from '../../resources/types.js'
import { DeltaState } from './delta-state.js'
import type { StreamState, VersionLabels } from './push.js'
import type { DeltaRequest, StateOfTheWorldRequest } from './request-codec.js'
import type { Variant } from '../responses/response-frame.js'
import { StateOfTheWorldState } from './sotw-state.js'
import type { DrainEpochs } from '../policies/translator-port.js'
import type { StreamStateOptions } from './variant-state.js'
import {
  callersLabel,
  rootsLabel,
  rulesLabel,
  servedIds,
  versionHash,
  versionLabel,
  versionTail,
} from './version-label.js'

/** What requests of both variants have in common. */
export interface AnyRequest {
  readonly typeUrl: string
  readonly nodeId?: string
  readonly keyFile?: string
}

/** Where a stream has to know which variant it speaks. */
export interface Protocol<Request extends AnyRequest> {
  readonly variant: Variant
  createState(options: StreamStateOptions): StreamState<Request>
  /** Names that a request asks for. */
  namesOf(request: Request): readonly string[]
  /** Versions that a first request reports. */
  versionsOf(request: Request): Iterable<string>
  labels(epochs: DrainEpochs, routes: ResourceSet): VersionLabels
  secretLabel(roots: EncodedResource, callers: readonly EncodedResource[]): string
  /** Ids of served ports, and of ways out, whose rules are not those that a first request for routes reports. */
  missedRules(request: Request, routes: ResourceSet): ReadonlySet<string>
  /** True if the roots are not those that a first request for secrets reports. */
  missedRoots(request: Request, roots: EncodedResource): boolean
  /** Ids of served TCP ports whose callers are not those that a first request for secrets reports. */
  missedCallers(request: Request, callers: readonly EncodedResource[]): readonly string[]
}

/** The incremental variant. */
export const deltaProtocol: Protocol<DeltaRequest> = {
  variant: 'delta',
  createState: (options) => new DeltaState(options),
  namesOf: ({ subscribe }) => subscribe,
  versionsOf: ({ initialVersions }) => initialVersions.values(),
  labels: (epochs) => ({ listener: versionLabel(epochs) }),
  secretLabel: () => '',
  missedRules({ initialVersions }, routes) {
    const missed = new Set<string>()
    for (const [name, version] of initialVersions) {
      const route = routes.get(name)
      if (route !== undefined && versionHash(version) !== route.version)
        for (const id of [...servedIds(route), egressDrainIdOfRoutes(name)]) if (id !== undefined) missed.add(id)
    }
    return missed
  },
  missedRoots({ initialVersions }, roots) {
    const version = initialVersions.get(roots.name)
    return version !== undefined && versionHash(version) !== roots.version
  },
  missedCallers({ initialVersions }, callers) {
    const missed = callers.filter(({ name, version }) => {
      const reported = initialVersions.get(name)
      return reported !== undefined && versionHash(reported) !== version
    })
    return missed.flatMap(servedIds)
  },
}

/** The state-of-the-world variant. */
export const stateOfTheWorldProtocol: Protocol<StateOfTheWorldRequest> = {
  variant: 'sotw',
  createState: (options) => new StateOfTheWorldState(options),
  namesOf: ({ resourceNames }) => resourceNames,
  versionsOf: ({ versionInfo }) => [versionInfo],
  labels: (epochs, routes) => ({ listener: versionLabel(epochs), route: rulesLabel(routes) }),
  secretLabel: (roots, callers) => rootsLabel(roots) + callersLabel(callers),
  missedRules({ versionInfo }, routes) {
    if (versionInfo === '' || versionTail(versionInfo) === rulesLabel(routes)) return new Set()
    return new Set([...routes].flatMap(servedIds))
  },
  missedRoots: ({ versionInfo }, roots) =>
    versionInfo !== '' && !versionTail(versionInfo).startsWith(rootsLabel(roots)),
  missedCallers: ({ versionInfo }, callers) =>
    versionInfo === '' || versionTail(versionInfo).endsWith(callersLabel(callers)) ? [] : callers.flatMap(servedIds),
}
