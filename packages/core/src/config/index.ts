export { MeshConfigurator, type ConfigChange, type ConfiguratorOptions } from './configurator.js'
export { formatDuration, parseDuration } from './duration.js'
export { configErrorCodes, type ConfigErrorCode } from './error-codes.js'
export type { SettingsOrigin } from './findings.js'
export { meshConfigView, withoutSecrets } from './mesh-config-view.js'
export * from './mesh-config.js'
export { isOlderProxy } from './proxy-version.js'
export { resolveMeshConfig, type ResolveOptions } from './resolve-mesh-config.js'
export { pinRestartOnly, restartOnlyChanges, type PinnedConfig, type RestartOnlyChange } from './restart-only.js'
export {
  allowedClasses,
  driverConfig,
  initContainerImage,
  proxyServerPort,
  sidecarImage,
  type SidecarOS,
} from './sidecar-images.js'
