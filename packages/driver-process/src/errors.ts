/** Codes of errors of drivers and endpoints providers in separate processes. */
export const driverProcessErrorCodes = {
  OSM_DRIVER_LIST: 'the list of driver packages cannot be read, or has an invalid entry',
  OSM_DRIVER_INTEGRITY: 'the digest of a driver package differs from the list, so it is not loaded',
  OSM_DRIVER_LOAD: 'a driver package cannot be loaded: its module fails, or exports no driver',
  OSM_DRIVER_NAME: 'the sidecar class of a driver differs from the list, or its name is already in use',
  OSM_DRIVER_SOCKET: 'a unix socket of a driver cannot be used: its path is too long, or it cannot be listened on',
  OSM_DRIVER_UNAVAILABLE: 'the process of a driver has failed or is being restarted, so it receives no calls',
  OSM_DRIVER_TIMEOUT: 'a driver did not respond in time',
  OSM_DRIVER_MEMORY: 'the process of a driver exceeded its memory limit and was killed',
  OSM_DRIVER_EXITED: 'the process of a driver exited',
  OSM_DRIVER_PROTOCOL: 'a driver sent a response that violates osm.driver.v1',
  OSM_DRIVER_CHANGED: 'a restarted driver differs from the previous one',
  OSM_ENDPOINTS_LIST: 'the list of endpoints providers cannot be read, or has an invalid entry',
  OSM_ENDPOINTS_PLUGIN:
    'an endpoints provider cannot be loaded or started, or its process ended; it is started again after a delay',
} as const

/** A code of {@link driverProcessErrorCodes}. */
export type DriverProcessErrorCode = keyof typeof driverProcessErrorCodes
