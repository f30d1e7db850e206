import type { EncodedResource, LiveEndpoints, ProxyResources, ResourceSet } from '../../resources/types.js'
import type { Unapplied } from './differences.js'
import type { ErrorDetail } from './request-codec.js'
import type { XdsType } from '../xds-types.js'

/** A response that is due. */
export interface Push {
  readonly type: XdsType
  readonly nonce: string
  /** `version_info` or `system_version_info`. */
  readonly version: string
  readonly resources: readonly EncodedResource[]
  /** Names of the delta variant; always empty in the other. */
  readonly removed: readonly string[]
  /** Goes behind the version of each resource; see version-label.ts. */
  readonly label: string
}

/** What a request meant to the response that it answers. */
export type Acknowledgement =
  | { readonly kind: 'ack'; readonly type: XdsType; readonly nonce: string }
  | {
      readonly kind: 'nack'
      readonly type: XdsType
      readonly nonce: string
      readonly error: ErrorDetail
      /** Names that are parked for it; empty while the guilty one is still looked for. */
      readonly refused: readonly string[]
    }

/** Tells which resources of a refused response a message names. */
export type NamedResources = (message: string, resources: readonly EncodedResource[]) => readonly string[]

/** What is written behind versions, by type. */
export type VersionLabels = Readonly<Partial<Record<XdsType, string>>>

/** A stream's state machine: requests and changes go in, responses come out. It does no input or output and reads no clock. */
export interface StreamState<Request> {
  /** @returns what the request acknowledges, if it acknowledges anything */
  request(request: Request): Acknowledgement | undefined
  /** The proxy should have these from now on. Labels go behind versions, see version-label.ts. */
  update(resources: ProxyResources, labels: VersionLabels): void
  /** The endpoints of its policy are the current ones. Does nothing if they are known. */
  showEndpoints(endpoints: LiveEndpoints): void
  /** Secrets are apart from policy: they rotate on their own. */
  updateSecrets(secrets: ResourceSet, label: string): void
  /** False if it is certain, without looking closer, that {@link next} gives nothing. */
  readonly mayBeDue: boolean
  /** The response that is to go out now, if any; from then on it counts as sent. */
  next(): Push | undefined
  /** Milliseconds until {@link next} may give something that only time has made due; undefined if nothing waits for that. */
  readonly nextInMs: number | undefined
  /** What is not applied of the policy's resources. */
  unapplied(): readonly Unapplied[]
  /** True while a response waits for its answer. */
  readonly awaitsAnswer: boolean
  /** True if everything that the proxy requested is acknowledged and nothing is refused. */
  readonly settled: boolean
  /** True if the proxy refuses something that it should have. */
  readonly hasRefusals: boolean
  /** Names that were asked for one by one, over all types. */
  readonly subscribedNames: number
}
