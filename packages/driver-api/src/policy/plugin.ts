import type { JsonValue } from './parts/values.js'

/** Type of the `extension` parts that hold user scripts. */
export const PLUGIN_TYPE = 'plugin.flomesh.io/v1alpha1 Plugin'

/** Maximum size of a script for a sidecar, in bytes. */
export const MAX_PLUGIN_BYTES = 1_000_000

/** Where scripts of a plugin are called. */
export type PluginChain = 'inbound-tcp' | 'inbound-http' | 'outbound-tcp' | 'outbound-http'

/** Value of an `extension` part of type {@link PLUGIN_TYPE}. */
export interface PluginValue {
  /** Name of the plugin. */
  readonly plugin: string
  /** Higher priorities run first; the parts of a proxy have that order. */
  readonly priority: number
  /** Sorted. */
  readonly chains: readonly PluginChain[]
  /** As the user wrote it. */
  readonly script: string
  /** Sorted by service. */
  readonly configs: readonly PluginServiceConfig[]
}

/** Configuration of a script for the called service. */
export interface PluginServiceConfig {
  /** `<namespace>/<name>`. */
  readonly service: string
  /** As the user wrote it. */
  readonly config: JsonValue
}
