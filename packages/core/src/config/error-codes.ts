/** Codes of problems of the mesh configuration, with the meaning of each. */
export const configErrorCodes = {
  OSM_CONFIG_DURATION: 'a duration cannot be read, or lies outside its range; another value holds',
  OSM_CONFIG_TLS:
    'a TLS version is below what the mesh allows, the range of versions is empty, or sidecars could not agree by a list of curves or suites',
  OSM_CONFIG_TLS_NAME: 'a cipher suite or curve is not known and is left out',
  OSM_CONFIG_KEY_SIZE: 'the size of RSA keys lies outside 2048 to 4096; 2048 holds',
  OSM_CONFIG_FRACTION: 'a sampled fraction is no number from 0 to 1; 1 holds',
  OSM_CONFIG_LOG_LEVEL: 'a log level is not known; info holds',
  OSM_CONFIG_ADDRESS: 'an address, range or interface cannot be read and is left out',
  OSM_CONFIG_COLLECTOR:
    'a collector is switched on without a usable address and port and stays off, or its port is written twice',
  OSM_CONFIG_EXTERNAL_AUTHORIZATION:
    'external authorization is switched on without an address or port; requests are denied',
  OSM_CONFIG_MTLS: 'mutual TLS cannot be switched off; the setting is accepted and not obeyed',
  OSM_CONFIG_DRIVER: 'a driver entry has a bad name or repeats another and is left out',
  OSM_CONFIG_CLASS: 'the sidecar class is not a DNS label; the default holds',
  OSM_CONFIG_NOT_READ: 'a setting is accepted for compatibility and not read',
  OSM_CONFIG_RESTART: 'a setting was changed that takes effect when the control plane is restarted',
  OSM_CONFIG_ABSENT: 'there is no MeshConfig, or it is empty; what held before holds on',
  OSM_CONFIG_SEVERAL: 'several MeshConfigs exist; one of them holds',
} as const

/** A code of {@link configErrorCodes}. */
export type ConfigErrorCode = keyof typeof configErrorCodes
