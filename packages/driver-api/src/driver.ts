import type { Capabilities } from './capabilities.js'
import type { ControllerContext } from './controller-context.js'
import type { HealthProbes } from './health.js'
import type { InjectorContext } from './injector-context.js'
import type { JsonValue } from './policy/parts.js'
import type { SidecarPatch } from './sidecar-patch.js'

/** Version of the contract that this package describes. A host speaks this version and, after a change, the one before it. */
export const CONTRACT_VERSION = 1

/**
 * A sidecar driver: what a sidecar class is made of.
 *
 * `patch` runs in the injector, once for each admitted workload; `start` runs in every controller replica, once. Importing a driver has no side effect.
 * Every value that crosses the contract is plain data and every call is asynchronous, so that a driver may run in the host's process, in a child
 * process, or behind a socket.
 */
export interface Driver {
  /** The sidecar class, a DNS label. Names compare case-insensitively. */
  readonly name: string
  /** Contract version that the driver was written for. */
  readonly contract: number
  /** What the sidecar can enforce; the host compares every policy with it. */
  readonly capabilities: Capabilities
  /** JSON Schema of the driver's own configuration. */
  readonly configSchema: { readonly [key: string]: JsonValue }
  /** Oldest version of the proxy that the driver serves, such as `1.37`; absent or empty if any will do. Pods with older images, by their tags, are refused. */
  readonly oldestProxyVersion?: string
  /**
   * Says what must stand beside a workload. Pure: the same context gives the same patch, and nothing is created or kept.
   *
   * @throws OsmError with code `OSM_DRIVER_PATCH`, naming what in the context can't be served
   */
  patch(context: InjectorContext): Promise<SidecarPatch>
  /**
   * Starts the proxy control plane and resolves when it listens.
   *
   * @returns how to ask for its health
   * @throws OsmError with code `OSM_DRIVER_START`, naming the address if it can't be bound
   */
  start(context: ControllerContext): Promise<HealthProbes>
}
