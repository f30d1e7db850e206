import type { Any } from '@bufbuild/protobuf/wkt'
import type { FilterSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_components_pb.js'
import type { HttpFilterSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'

import type { Init } from '../encoding/encode.js'

/**
 * Filters in the order in which traffic passes them. Order decides what an attacker can reach and what a limit counts, so it is in one place,
 * with the reason beside each entry.
 */
const filterOrder = {
  network: [
    { name: 'envoy.filters.network.rbac', reason: 'who may not speak must not use up tokens or reach a parser' },
    { name: 'envoy.filters.network.local_ratelimit', reason: 'counts connections of callers that are allowed' },
    { name: 'envoy.filters.network.ratelimit', reason: 'asks a service, so only for what the local limit lets pass' },
    { name: 'envoy.filters.network.set_filter_state', reason: 'says where a tunnel is to lead, before one is opened' },
    {
      name: 'envoy.filters.network.sni_dynamic_forward_proxy',
      reason: 'resolves the server name that the next one connects to',
    },
    { name: 'envoy.filters.network.http_connection_manager', reason: 'terminal, on HTTP ports' },
    { name: 'envoy.filters.network.tcp_proxy', reason: 'terminal, on all others' },
  ],
  http: [
    {
      name: 'envoy.filters.http.header_mutation',
      reason: 'names the workload in every answer, refusals included, and takes out headers that no rule looks at',
    },
    {
      name: 'envoy.filters.http.health_check',
      reason:
        'tells a peer that the proxy lives and nothing else, so any peer of the mesh may ask, whatever it may call',
    },
    {
      name: 'osm.filters.http.closing',
      reason: 'asleep but where a virtual host wakes it; ends connections whatever comes of their requests',
    },
    { name: 'osm.filters.http.path_readings', reason: 'tells rules how else a path may be read' },
    { name: 'envoy.filters.http.rbac', reason: 'decides before anything is spent on a request' },
    { name: 'envoy.filters.http.local_ratelimit', reason: 'counts requests that are allowed, not those of strangers' },
    { name: 'envoy.filters.http.ratelimit', reason: 'asks a service, so only for what the local limit lets pass' },
    { name: 'envoy.filters.http.ext_authz', reason: 'the dearest check, and it may only deny: so it comes last' },
    { name: 'envoy.filters.http.custom_response', reason: 'answers for the router, so it stands before it' },
    {
      name: 'envoy.filters.http.lua',
      reason: 'answers in place of what is broken, before anything is spent on it',
    },
    { name: 'envoy.filters.http.dynamic_forward_proxy', reason: 'resolves the host that the router connects to' },
    { name: 'envoy.filters.http.set_filter_state', reason: 'says where a tunnel is to lead, before one is opened' },
    {
      name: 'envoy.filters.http.header_to_metadata',
      reason: 'sees answers first, to take out what is meant for this proxy alone',
    },
    { name: 'envoy.filters.http.router', reason: 'terminal' },
  ],
} as const

type FilterName<Kind extends keyof typeof filterOrder> = (typeof filterOrder)[Kind][number]['name']

/** Configurations of filters by name, in any order. */
export type FilterConfigs<Kind extends keyof typeof filterOrder> = Readonly<Partial<Record<FilterName<Kind>, Any>>>

/** Name of the HTTP filter under which virtual hosts and routes give their own rules. */
export const HTTP_RBAC = 'envoy.filters.http.rbac'
/** Name of the HTTP filter under which virtual hosts say which headers are removed. */
export const HTTP_HEADER_MUTATION = 'envoy.filters.http.header_mutation'
/** Name of the HTTP filter under which virtual hosts and routes give their own limits. */
export const HTTP_LOCAL_RATE_LIMIT = 'envoy.filters.http.local_ratelimit'
/** Name of the HTTP filter by which routes answer in place of what they lead to. */
export const HTTP_CUSTOM_RESPONSE = 'envoy.filters.http.custom_response'
/** Name of the HTTP filter that routes can take themselves out of. */
export const HTTP_EXTERNAL_AUTHORIZATION = 'envoy.filters.http.ext_authz'

/** Name of the HTTP filter under which clusters of routes say when a circuit breaks. */
export const HTTP_LUA = 'envoy.filters.http.lua'
/** Name of the HTTP filter by which virtual hosts end connections. */
export const HTTP_CLOSING = 'osm.filters.http.closing'
/** Name of the HTTP filter by which routes say where a tunnel is to lead. */
export const HTTP_SET_FILTER_STATE = 'envoy.filters.http.set_filter_state'

/** Network filters as the table orders them. */
export function networkFilters(configs: FilterConfigs<'network'>): Init<typeof FilterSchema>[] {
  return ordered(filterOrder.network, configs).map(({ name, config }) => ({
    name,
    configType: { case: 'typedConfig', value: config },
  }))
}

/** HTTP filters as the table orders them. */
export function httpFilters(configs: FilterConfigs<'http'>): Init<typeof HttpFilterSchema>[] {
  return ordered(filterOrder.http, configs).map(({ name, config }) => ({
    name,
    disabled: name === HTTP_CLOSING,
    configType: { case: 'typedConfig', value: config },
  }))
}

function ordered<Name extends string>(
  order: readonly { readonly name: Name }[],
  configs: Readonly<Partial<Record<Name, Any>>>,
): readonly { readonly name: Name; readonly config: Any }[] {
  return order.flatMap(({ name }) => {
    const config = configs[name]
    return config === undefined ? [] : [{ name, config }]
  })
}
