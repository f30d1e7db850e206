import type { Capabilities } from './capabilities.js'
import type { ContractRange } from './contract.js'
import type { ControllerContext } from './controller-context.js'
import type { HealthProbes } from './health.js'
import type { InjectorContext } from './injector-context.js'
import type { JsonValue } from './policy/parts.js'
import type { SidecarPatch } from './sidecar-patch.js'

/**
 * A sidecar driver: the implementation of a sidecar class.
 *
 * `patch` runs in the injector, once for each admitted workload; `start` runs in every controller replica, once. Importing a driver has no side effect.
 * Every value in the contract is plain data and every call is asynchronous, so that a driver can run in the host's process, in a child
 */
export interface Driver {
  /** The sidecar class, a DNS label. Names compare case-insensitively. */
  readonly name: string
  /** Contract versions that the driver supports. Contexts name the one in use. */
  readonly contract: ContractRange
  /** What the sidecar can enforce; the host compares every policy with it. */
  readonly capabilities: Capabilities
  /** JSON Schema of the driver's own configuration. */
  readonly configSchema: { readonly [key: string]: JsonValue }
  /** Oldest supported version of the proxy, such as `1.37`; absent or empty for any version. Pods with older images, by their tags, are refused. */
  readonly oldestProxyVersion?: string
  /**
   * Present: `start` follows `meshCatalog.endpoints`, so that endpoints that come and go change no policy. Absent: policies contain endpoints, and each change of
   * them is a step of every policy that contains them.
   */
  readonly followsEndpoints?: true
  /**
   * Returns the sidecar of a workload. Pure: the same context gives the same patch, and no state is created or kept.
   *
   * @throws OsmError with code `OSM_DRIVER_PATCH`, naming the unsupported part of the context
   */
  patch(context: InjectorContext): Promise<SidecarPatch>
  /**
   * Starts the proxy control plane and resolves when it listens.
   *
   * @returns its health probes, and a promise of its end
   * @throws OsmError with code `OSM_DRIVER_START`, naming the address if it cannot be bound
   */
  start(context: ControllerContext): Promise<StartedDriver>
}

/** A proxy control plane that listens. */
export interface StartedDriver {
  /** Its health probes. */
  readonly probes: HealthProbes
  /**
   * Settles when everything that `start` opened is closed. Pending while the control plane runs.
   *
   * After {@link ControllerContext.signal} has aborted it resolves. If it settles earlier, the control plane has failed: the host logs the reason of a
   * rejection, aborts the signal and starts the driver again after a wait. A driver that must not be started again calls
   * {@link ControllerContext.cancel} instead.
   */
  readonly stopped: Promise<void>
}
