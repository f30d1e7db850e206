import type { MeshConfig } from './mesh-config.js'

/** The configuration as debug pages and support bundles may show it. */
export function withoutSecrets(config: MeshConfig): MeshConfig {
  const { remoteLogging } = config.observability
  if (remoteLogging === undefined || remoteLogging.authorization === '') return config
  const masked = { ...remoteLogging, authorization: '[redacted]' }
  return { ...config, observability: { ...config.observability, remoteLogging: masked } }
}
