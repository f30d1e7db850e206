import type { ResourceSet } from '../../resources/types.js'
import type { ScheduledDraft } from './push-schedule.js'
import type { Acknowledgement } from './push.js'
import type { StateOfTheWorldRequest } from './request-codec.js'
import { stateVersion } from './state-version.js'
import { emptyEndpoints, emptyRoutes } from './stubs.js'
import type { TypeState } from './type-state.js'
import type { StreamStateOptions } from './variant-state.js'
import { VariantState } from './variant-state.js'
import { versionHash } from './version-label.js'
import type { XdsType } from '../xds-types.js'

/**
 * The state-of-the-world variant: one version for all of a type. Responses of clusters and listeners hold everything; those of other types hold what
 * changed, which that variant allows.
 */
export class StateOfTheWorldState extends VariantState<StateOfTheWorldRequest> {
  /** The version in first requests, until there is something to compare it with. */
  readonly #claims = new Map<XdsType, string>()
  readonly #lastNonce = new Map<XdsType, string>()

  constructor(options: StreamStateOptions) {
    super(options, {
      fullState: ['cluster', 'listener'],
      stubs: { route: emptyRoutes, endpoints: emptyEndpoints },
      namesRemovals: false,
    })
  }

  protected override take(
    type: XdsType,
    typeState: TypeState,
    request: StateOfTheWorldRequest,
  ): Acknowledgement | undefined {
    const last = this.#lastNonce.get(type)
    const nonce = request.responseNonce
    if (nonce !== '' && last !== undefined && nonce !== last) {
      // Stale: it answers an earlier response, and its names will come again with the answer to the last one. Until then nothing is sent; but it is known
      // already that listeners and routes have to wait for what those names stand for.
      if (typeState.inFlight !== undefined) typeState.resubscribe(request.resourceNames)
      return undefined
    }
    const outcome = this.acknowledge(type, typeState, nonce, request.errorDetail)
    if (!typeState.opened && !this.#claims.has(type)) this.#claims.set(type, versionHash(request.versionInfo))
    typeState.resubscribe(request.resourceNames)
    this.open(type, typeState)
    return outcome
  }

  protected override open(type: XdsType, typeState: TypeState): void {
    const claimed = this.#claims.get(type)
    const { desired, subscription } = typeState
    if (claimed === undefined || desired === undefined) return
    this.#claims.delete(type)
    if (claimed !== '' && claimed === versionInForce(typeState, desired)) {
      const heldVersion = (name: string) => desired.get(name)?.version
      typeState.open({ heldVersion, leftovers: [], knowsMissing: () => false, owed: false })
      return
    }
    typeState.open({
      heldVersion: () => (claimed === '' ? undefined : ''),
      leftovers: [],
      knowsMissing: () => false,
      owed: subscription.wildcard || subscription.size > 0,
    })
  }

  /**
   * The version of a proxy that has applied the draft.
   *
   * It covers every resource that was requested. Were it the version of the shared set alone, a proxy that requests one more name while its stream breaks
   * would return with that version and would never be sent the new resource.
   */
  protected override versionOf({ typeState, draft }: ScheduledDraft): string {
    const { subscription, desired } = typeState
    if (desired === undefined) return ''
    if (draft.complete && subscription.covers(desired)) return desired.version
    const versions = new Map<string, string>()
    for (const { name } of desired) if (subscription.has(name)) versions.set(name, typeState.held(name)?.version ?? '')
    for (const { name, version } of draft.resources) if (!draft.stubs.has(name)) versions.set(name, version)
    return stateVersion(versions, desired)
  }

  protected override noteSent(type: XdsType, nonce: string): void {
    this.#lastNonce.set(type, nonce)
  }
}

/**
 * The version of a proxy that has everything it asks for. Names of what does not exist are left out, because giving them up is not answered by another
 * version; a proxy that requests them is always answered.
 */
function versionInForce({ subscription }: TypeState, desired: ResourceSet): string {
  if (subscription.covers(desired)) return desired.version
  const versions = new Map<string, string>()
  for (const { name, version } of desired) if (subscription.has(name)) versions.set(name, version)
  return stateVersion(versions, desired)
}
