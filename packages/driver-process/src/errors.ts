/** Codes of errors of drivers outside of the process. */
export const driverProcessErrorCodes = {
  OSM_DRIVER_LIST: 'the list of driver packages cannot be read, or an entry of it is not what it has to be',
  OSM_DRIVER_INTEGRITY: 'a driver package is not the one whose digest the list names, so it is not loaded',
  OSM_DRIVER_LOAD: 'a driver package cannot be loaded: its module fails, or exports no driver',
  OSM_DRIVER_NAME: 'a driver is of another sidecar class than the list says, or its name is taken',
  OSM_DRIVER_SOCKET: 'a unix socket of a driver cannot be used: its path is too long, or it cannot be listened on',
  OSM_DRIVER_UNAVAILABLE: 'the process of a driver has failed or is being started again, so nothing is asked of it',
  OSM_DRIVER_TIMEOUT: 'a driver did not answer in time',
  OSM_DRIVER_MEMORY: 'the process of a driver exceeded its memory limit and was killed',
  OSM_DRIVER_EXITED: 'the process of a driver ended by itself',
  OSM_DRIVER_PROTOCOL: 'a driver answered what osm.driver.v1 does not allow',
  OSM_DRIVER_CHANGED: 'a driver that was started again is another one than before',
} as const

/** A code of {@link driverProcessErrorCodes}. */
export type DriverProcessErrorCode = keyof typeof driverProcessErrorCodes
