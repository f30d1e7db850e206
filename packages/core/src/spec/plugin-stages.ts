import type { pluginChainNames } from './schema/plugin.js'

/** Name of a chain. */
export type PluginStageChain = (typeof pluginChainNames)[number]

/** Built-in stages of each chain with their places, as the chart writes them. */
export const pluginStages: Readonly<Record<PluginStageChain, Readonly<Record<string, number>>>> = {
  'inbound-tcp': {
    'modules/inbound-tls-termination': 130,
    'modules/inbound-tcp-routing': 120,
    'modules/inbound-tcp-load-balancing': 110,
    'modules/inbound-tcp-default': 100,
  },
  'inbound-http': {
    'modules/inbound-tls-termination': 180,
    'modules/inbound-http-routing': 170,
    'modules/inbound-metrics-http': 160,
    'modules/inbound-tracing-http': 150,
    'modules/inbound-logging-http': 140,
    'modules/inbound-throttle-service': 130,
    'modules/inbound-throttle-route': 120,
    'modules/inbound-http-load-balancing': 110,
    'modules/inbound-http-default': 100,
  },
  'outbound-tcp': {
    'modules/outbound-tcp-routing': 120,
    'modules/outbound-tcp-load-balancing': 110,
    'modules/outbound-tcp-default': 100,
  },
  'outbound-http': {
    'modules/outbound-http-routing': 160,
    'modules/outbound-metrics-http': 150,
    'modules/outbound-tracing-http': 140,
    'modules/outbound-logging-http': 130,
    'modules/outbound-circuit-breaker': 120,
    'modules/outbound-http-load-balancing': 110,
    'modules/outbound-http-default': 100,
  },
}
