/** Additional facts of an error. Never key material, tokens or whole objects. */
export type ErrorDetails = Readonly<Record<string, string | number | boolean | readonly string[]>>

/**
 * An error with a stable code.
 *
 * Codes have the form `OSM_<AREA>_<WHAT>`; they are part of the public API, listed in `docs/reference/errors.md` and never reused.
 * The message is for people and may change; programs compare `code`.
 */
export class OsmError<Code extends string = string> extends Error {
  /** Stable machine-readable code. */
  readonly code: Code
  /** Facts that help to fix the error. Never secrets. */
  readonly details: ErrorDetails

  /**
   * @param code - stable code from the table of the area
   * @param message - what is wrong, where, and what is accepted
   * @param options - the cause and further facts
   */
  constructor(
    code: Code,
    message: string,
    options: { readonly cause?: unknown; readonly details?: ErrorDetails } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'OsmError'
    this.code = code
    this.details = options.details ?? {}
  }
}

/** True for an {@link OsmError}, optionally one of the given code. */
export function isOsmError(error: unknown, code?: string): error is OsmError {
  return error instanceof OsmError && (code === undefined || error.code === code)
}

/** Error codes of the driver contract, with their meanings. */
export const driverErrorCodes = {
  OSM_DRIVER_NIL: 'register was called without a driver',
  OSM_DRIVER_INVALID:
    'a driver declaration does not conform to the contract: a missing method, a bad name, or an invalid capability',
  OSM_DRIVER_DUPLICATE: 'two drivers were registered under one name; names compare case-insensitively',
  OSM_DRIVER_CONTRACT: 'the driver and this host have no contract version in common',
  OSM_DRIVER_UNKNOWN: 'no driver is registered for the sidecar class',
  OSM_DRIVER_NOT_INSTALLED: 'patch or start was called before a default driver was installed',
  OSM_DRIVER_CONFIG: 'the configuration of a driver is not valid for its configSchema',
  OSM_DRIVER_PATCH: 'the driver failed to produce a sidecar patch',
  OSM_DRIVER_PATCH_REFUSED: 'the sidecar patch exceeds the permissions of a driver',
  OSM_DRIVER_START: 'the proxy control plane of a driver failed to start',
  OSM_DRIVER_STOPPED: 'the proxy control plane of a driver stopped unexpectedly',
  OSM_PROXY_UNAUTHENTICATED: 'the peer certificate is not a valid proxy certificate of this mesh, or was released',
  OSM_PROXY_WRONG_CLASS: 'the proxy belongs to another sidecar class than the calling driver',
  OSM_PROXY_UNKNOWN: 'the workload of the proxy in the certificate does not exist',
  OSM_PROXY_EVICTED:
    'the proxy was evicted: its workload was removed, a newer stream replaced it, or the connection limit is reached',
  OSM_PROXY_KEY:
    'the key of a proxy certificate is unsupported for service certificates; use ECDSA on P-256 or P-384, or RSA of 2048 to 4096 bits',
  OSM_PROXY_SHARED_KEY: 'a sidecar is too old to use the key of its proxy certificate and is sent a shared key instead',
  OSM_PART_UNKNOWN: 'the host has no policy part with that hash',
  OSM_POLICY_INVALID: 'a policy part is not valid for its schema',
  OSM_CREDENTIAL_DENIED: 'the credential reference is not in the policy of the requesting proxy',
} as const

/** A code of {@link driverErrorCodes}. */
export type DriverErrorCode = keyof typeof driverErrorCodes
