/** Codes of problems of the mesh configuration. */
export const configErrorCodes = {
  OSM_CONFIG_DURATION: 'a duration is invalid or out of range; another value is used',
  OSM_CONFIG_TLS:
    'a TLS version is below the minimum, the range of versions is empty, or sidecars cannot negotiate with the listed curves or suites',
  OSM_CONFIG_TLS_NAME: 'a cipher suite or curve is unknown and is ignored',
  OSM_CONFIG_KEY_SIZE: 'the size of RSA keys is not between 2048 and 4096; 2048 is used',
  OSM_CONFIG_FRACTION: 'a sampled fraction is not a number from 0 to 1; 1 is used',
  OSM_CONFIG_LOG_LEVEL: 'a log level is unknown; info is used',
  OSM_CONFIG_ADDRESS: 'an address, range or interface is invalid and is ignored',
  OSM_CONFIG_COLLECTOR:
    'a collector is enabled without a valid address and port and stays disabled, or its port is set twice',
  OSM_CONFIG_EXTERNAL_AUTHORIZATION:
    'external authorization is enabled without an address or port; requests are denied',
  OSM_CONFIG_MTLS: 'mutual TLS cannot be disabled; the setting is accepted and ignored',
  OSM_CONFIG_DRIVER: 'a driver entry has an invalid or duplicate name and is ignored',
  OSM_CONFIG_CLASS: 'the sidecar class is not a DNS label; the default is used',
  OSM_CONFIG_NOT_READ: 'a setting is accepted for compatibility and ignored',
  OSM_CONFIG_RESTART: 'a changed setting takes effect after a restart of the control plane',
  OSM_CONFIG_ABSENT: 'there is no MeshConfig, or it is empty; the previous settings stay in force',
  OSM_CONFIG_SEVERAL: 'several MeshConfigs exist; one of them is used',
} as const

/** A code of {@link configErrorCodes}. */
export type ConfigErrorCode = keyof typeof configErrorCodes
