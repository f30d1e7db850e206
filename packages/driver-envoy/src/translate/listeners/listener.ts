import type { JsonObject } from '@bufbuild/protobuf'
import type { ProxyPart, SocketAddress } from '@osm-ts/driver-api/policy'
import { TrafficDirection } from '@osm-ts/envoy-api/envoy/config/core/v3/base_pb.js'
import type {
  ListenerFilterChainMatchPredicateSchema as PredicateSchema,
  ListenerFilterSchema,
} from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'
import { HttpInspectorSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/listener/http_inspector/v3/http_inspector_pb.js'
import { OriginalDstSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/listener/original_dst/v3/original_dst_pb.js'
import { TlsInspectorSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js'
import type { MatcherSchema } from '@osm-ts/envoy-api/xds/type/matcher/v3/matcher_pb.js'

import { listenAddress } from '../encoding/address.js'
import { appendTo, encode, type Init, pack } from '../encoding/encode.js'

/** A listener, as far as it differs from others. */
export interface ListenerShape {
  readonly name: string
  readonly listen: SocketAddress
  readonly ipFamilies: ProxyPart['ipFamilies']
  readonly direction: 'inbound' | 'outbound'
  /** True where the kernel redirects connections: the destination is the one that was dialled. */
  readonly redirected: boolean
  /**
   * Whether the first bytes are read for an SNI name before a chain is chosen, and on which destination ports. Where a server speaks first, a client waits
   * for it, and reading would wait for the client.
   */
  readonly inspectsTls: 'never' | 'always' | readonly number[]
  /** True if the first bytes tell HTTP/2 from HTTP/1.1 before a chain is chosen. */
  readonly inspectsHttp?: boolean
  /** True if servers speak first at some addresses on inspected ports: their clients stay silent, and must not wait for long. */
  readonly expectsSilence?: boolean
  /** Encoded filter chains; never empty unless there is a default. */
  readonly chains: readonly Uint8Array[]
  readonly defaultChain?: Uint8Array
  /** Chooses between the chains; absent: each says itself which connections it takes. */
  readonly chainMatcher?: Init<typeof MatcherSchema>
  /** What formats of its filters read. */
  readonly metadata?: JsonObject
}

/** Time that silent clients get on an inspected port before a chain is chosen by the destination alone, in seconds. */
const SILENCE_SECONDS = 1n

/** A listener around filter chains that other listeners may share. */
export function listener(shape: ListenerShape): Uint8Array {
  const base = encode(ListenerSchema, {
    name: shape.name,
    ...listenAddress(shape.listen, shape.ipFamilies),
    trafficDirection: shape.direction === 'inbound' ? TrafficDirection.INBOUND : TrafficDirection.OUTBOUND,
    listenerFilters: listenerFilters(shape),
    ...(shape.expectsSilence === true
      ? { listenerFiltersTimeout: { seconds: SILENCE_SECONDS }, continueOnListenerFiltersTimeout: true }
      : {}),
    ...(shape.metadata === undefined
      ? {}
      : { metadata: { filterMetadata: shape.metadata as Record<string, JsonObject> } }),
    ...(shape.chainMatcher === undefined ? {} : { filterChainMatcher: shape.chainMatcher }),
    // Two proxies of one machine must not share an address unnoticed, each getting some of the connections.
    ...(shape.redirected ? {} : { enableReusePort: false }),
  })
  const withChains = appendTo(ListenerSchema, base, 'filterChains', shape.chains)
  return shape.defaultChain === undefined
    ? withChains
    : appendTo(ListenerSchema, withChains, 'defaultFilterChain', [shape.defaultChain])
}

/** The destination comes first: what follows may depend on it. Protocols are declared, never guessed: only probes of two protocols on one
 * port are told apart by what is spoken. */
function listenerFilters({
  redirected,
  inspectsTls,
  inspectsHttp = false,
}: ListenerShape): Init<typeof ListenerFilterSchema>[] {
  return [
    ...(redirected
      ? [
          {
            name: 'envoy.filters.listener.original_dst',
            configType: { case: 'typedConfig' as const, value: pack(OriginalDstSchema, {}) },
          },
        ]
      : []),
    ...(inspectsTls === 'never' || inspectsTls.length === 0
      ? []
      : [
          {
            name: 'envoy.filters.listener.tls_inspector',
            configType: { case: 'typedConfig' as const, value: pack(TlsInspectorSchema, {}) },
            ...(inspectsTls === 'always' ? {} : { filterDisabled: exceptOn(inspectsTls) }),
          },
        ]),
    ...(inspectsHttp
      ? [
          {
            name: 'envoy.filters.listener.http_inspector',
            configType: { case: 'typedConfig' as const, value: pack(HttpInspectorSchema, {}) },
          },
        ]
      : []),
  ]
}

/** Holds for connections to any other port. */
function exceptOn(ports: readonly number[]): Init<typeof PredicateSchema> {
  const rules = ports.map((port) => ({
    rule: { case: 'destinationPortRange' as const, value: { start: port, end: port + 1 } },
  }))
  const [only] = rules
  // A set of alternatives has two at least.
  const some =
    rules.length === 1 && only !== undefined ? only : { rule: { case: 'orMatch' as const, value: { rules } } }
  return { rule: { case: 'notMatch', value: some } }
}
