import type { ScheduledDraft } from './push-schedule.js'
import type { Acknowledgement } from './push.js'
import type { DeltaRequest } from './request-codec.js'
import { emptyRoutes } from './stubs.js'
import type { TypeState } from './type-state.js'
import type { StreamStateOptions } from './variant-state.js'
import { VariantState } from './variant-state.js'
import { versionHash } from './version-label.js'
import type { XdsType } from '../xds-types.js'

/** The incremental variant: each resource has its own version, and removals are named. */
export class DeltaState extends VariantState<DeltaRequest> {
  /** What first requests said, until there is something to compare it with. */
  readonly #claims = new Map<XdsType, ReadonlyMap<string, string>>()

  constructor(options: StreamStateOptions) {
    super(options, { fullState: [], stubs: { route: emptyRoutes }, namesRemovals: true })
  }

  protected override take(type: XdsType, typeState: TypeState, request: DeltaRequest): Acknowledgement | undefined {
    const { subscribe, unsubscribe } = request
    const outcome = this.acknowledge(type, typeState, request.responseNonce, request.errorDetail)
    if (!typeState.opened && !this.#claims.has(type)) {
      if (subscribe.length === 0 && unsubscribe.length === 0) typeState.subscription.startEmpty()
      this.#claims.set(type, request.initialVersions)
    }
    // Honoured whatever the nonce says: in this variant changes of the subscription are not repeated.
    for (const name of unsubscribe) typeState.unsubscribe(name)
    for (const name of subscribe) typeState.subscribe(name)
    this.open(type, typeState)
    if (subscribe.length > 0 || unsubscribe.length > 0) typeState.shareNames()
    return outcome
  }

  protected override open(type: XdsType, typeState: TypeState): void {
    const claims = this.#claims.get(type)
    const desired = typeState.desired
    if (claims === undefined || desired === undefined) return
    this.#claims.delete(type)
    const isStub = (name: string, version: string) => type === 'route' && version === emptyRoutes(name).version
    const missing = [...claims].filter(([name]) => desired.get(name) === undefined)
    const stubbed = new Set(missing.filter(([name, version]) => isStub(name, version)).map(([name]) => name))
    typeState.open({
      heldVersion: (name) => {
        const version = claims.get(name)
        return version === undefined ? undefined : versionHash(version)
      },
      leftovers: missing.map(([name]) => name).filter((name) => !stubbed.has(name)),
      knowsMissing: (name) => stubbed.has(name),
      // A proxy that starts waits for a first answer, be it empty. One that reconnects has had it.
      owed: typeState.subscription.wildcard && claims.size === 0,
    })
  }

  /** Only informative in this variant. Proxies that are sent the same one resource share the response, whatever else each of them has. */
  protected override versionOf({ typeState, draft }: ScheduledDraft): string {
    const [only, ...others] = draft.resources
    const isAlone = only !== undefined && others.length + draft.removed.length === 0
    return (isAlone ? only.version : typeState.desired?.version) ?? ''
  }

  protected override noteSent(): void {
    // Nonces only pair requests with responses here; none is ever too old to be read.
  }
}
