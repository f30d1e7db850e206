import type { MeshConfigSpec } from '../spec/schema/mesh-config.js'
import { didYouMean } from '../spec/suggest.js'
import type { Findings } from './findings.js'
import { osmLogLevels, type ObservabilityConfig, type OsmLogLevel, type RemoteLoggingConfig } from './mesh-config.js'

type ObservabilitySpec = NonNullable<MeshConfigSpec['observability']>

/** `spec.observability` with all defaults. */
export function resolveObservability(
  spec: ObservabilitySpec,
  jaegerHost: string,
  findings: Findings,
): ObservabilityConfig {
  const { tracing } = spec
  return {
    osmLogLevel: logLevel(spec.osmLogLevel, findings),
    enableDebugServer: spec.enableDebugServer ?? false,
    tracing:
      tracing?.enable === true
        ? {
            host: tracing.address || jaegerHost,
            ...collector(tracing),
            sampledFraction: findings.fraction(tracing.sampledFraction, 'spec.observability.tracing.sampledFraction'),
          }
        : undefined,
    remoteLogging: remoteLogging(spec.remoteLogging, findings),
  }
}

/** The ports and paths that collectors of either kind have by convention. */
function collector({ provider = 'zipkin', port, endpoint }: NonNullable<ObservabilitySpec['tracing']>) {
  const usual =
    provider === 'zipkin' ? { port: 9411, endpoint: '/api/v2/spans' } : { port: 4318, endpoint: '/v1/traces' }
  return { provider, port: port || usual.port, endpoint: endpoint || usual.endpoint }
}

function remoteLogging(spec: ObservabilitySpec['remoteLogging'], findings: Findings): RemoteLoggingConfig | undefined {
  if (spec?.enable !== true) return undefined
  const field = 'spec.observability.remoteLogging'
  if (!spec.address || !spec.port) {
    findings.report('OSM_CONFIG_COLLECTOR', field, 'is on without address and port and stays off; give both')
    return undefined
  }
  return {
    host: spec.address,
    port: spec.port,
    endpoint: spec.endpoint || '/?query=insert%20into%20log(message)%20format%20JSONAsString',
    sampledFraction: findings.fraction(spec.sampledFraction, `${field}.sampledFraction`),
    // The schema allows 0 to 2.
    level: (spec.level ?? 0) as RemoteLoggingConfig['level'],
    authorization: spec.authorization ?? '',
  }
}

function logLevel(written: string | undefined, findings: Findings): OsmLogLevel {
  if (written === undefined || written === '') return 'info'
  const level = osmLogLevels.find((known) => known === written.toLowerCase())
  if (level !== undefined) return level
  if (written.toLowerCase() === 'warning') return 'warn'
  if (written.toLowerCase() === 'off') return 'disabled'
  findings.report(
    'OSM_CONFIG_LOG_LEVEL',
    'spec.observability.osmLogLevel',
    `must be one of ${osmLogLevels.join(', ')}, not ${JSON.stringify(written)}${didYouMean(written, osmLogLevels)}; info holds`.replace(
      '?; info',
      '? Info',
    ),
  )
  return 'info'
}
