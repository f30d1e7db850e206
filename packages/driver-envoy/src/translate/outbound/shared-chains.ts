import { hash } from 'node:crypto'
import type { Any } from '@bufbuild/protobuf/wkt'
import type { OutboundPart } from '@osm-ts/driver-api/policy'
import { FilterConfigSchema } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { LuaPerRouteSchema, LuaSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/http/lua/v3/lua_pb.js'

import { pack } from '../encoding/encode.js'
import { type Breakers, breakersOfOutbound } from '../upstreams/breakers.js'
import type { PlaintextUpstreams } from '../upstreams/plaintext.js'
import { HTTP_CLOSING } from '../routing/filter-order.js'

/**
 * A filter chain that called HTTP services of a port share. A sidecar with a chain for each of 1,000 services takes 49 MB more and loads ten times as
 * long, and each new service sends all of those chains again. What a chain serves stands in its route configuration: one for all services of a port
 * would be sent whole for each of them, so they are divided by a hash.
 */
export interface SharedChain {
  readonly port: number
  /** A hexadecimal digit of the hash of the service. */
  readonly shard: string
  /** Port and digit. */
  readonly key: string
}

/** Chooses the virtual host of the address that was dialled. */
export const DIALLED_ADDRESS = '%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%'
/** Host of requests of HTTP/1.0 that come without one, until routes know their service. */
export const WITHOUT_HOST = 'no-host.invalid'

/** Ends the connection with the answer: `Connection: close` in HTTP/1.1, GOAWAY in HTTP/2. */
const CLOSING_SCRIPT = 'function envoy_on_request(handle) handle:streamInfo():drainConnectionUponCompletion() end'

/** Finds the shared chains of services, once for each part: hundreds of listeners with thousands of services change together. */
export class SharedChains {
  readonly #known = new WeakMap<OutboundPart, SharedChain>()

  /** The chain in which an address of the service may be found; undefined where it never shares one. */
  of(part: OutboundPart): SharedChain | undefined {
    const { id, port, rules, sharedWith } = part
    if (rules.kind !== 'http' || sharedWith !== undefined) return undefined
    let chain = this.#known.get(part)
    if (chain === undefined) {
      const shard = hash('sha256', id, 'hex').slice(0, 1)
      this.#known.set(part, (chain = { port, shard, key: `${port}|${shard}` }))
    }
    return chain
  }
}

/**
 * True if new connections to the service are for a chain of its own: it has filters that others do not need, or no sidecar that ends open streams when
 * access is withdrawn, so that draining the chain must do it.
 */
export function needsOwnChain(
  part: OutboundPart,
  { breakers, plaintext }: { readonly breakers: Breakers; readonly plaintext: PlaintextUpstreams },
): boolean {
  if (part.rules.kind !== 'http' || part.sharedWith !== undefined) return true
  if (breakersOfOutbound(part, breakers.byCluster).size > 0) return true
  const { ids } = plaintext
  return ids.size > 0 && part.rules.routes.some(({ targets }) => targets.some(({ upstream }) => ids.has(upstream)))
}

/** The filter that {@link closingFilter} needs. Requests to other virtual hosts do not pass it. */
export function closableFilters(): { readonly [HTTP_CLOSING]: Any } {
  return { [HTTP_CLOSING]: pack(LuaSchema, {}) }
}

/** Has a virtual host end connections. */
export function closingFilter(): Readonly<Record<string, Any>> {
  const sourceCode = { specifier: { case: 'inlineString' as const, value: CLOSING_SCRIPT } }
  const config = pack(LuaPerRouteSchema, { override: { case: 'sourceCode', value: sourceCode } })
  return { [HTTP_CLOSING]: pack(FilterConfigSchema, { config }) }
}
