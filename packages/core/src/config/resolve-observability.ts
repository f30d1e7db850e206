import type { MeshConfigSpec } from '../spec/schema/mesh-config.js'
import { didYouMean } from '../spec/suggest.js'
import type { Findings } from './findings.js'
import { type HostPort, hostPortForm, parseHostPort } from './host-port.js'
import {
  osmLogLevels,
  type ObservabilityConfig,
  type OsmLogLevel,
  type RemoteLoggingConfig,
  type TracingConfig,
} from './mesh-config.js'

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
    tracing: resolveTracing(tracing, jaegerHost, findings),
    remoteLogging: remoteLogging(spec.remoteLogging, findings),
  }
}

function resolveTracing(
  spec: ObservabilitySpec['tracing'],
  jaegerHost: string,
  findings: Findings,
): TracingConfig | undefined {
  if (spec?.enable !== true) return undefined
  const field = 'spec.observability.tracing'
  const server = serverOf({ ...spec, address: spec.address || jaegerHost }, field, findings)
  if (server === undefined) return undefined
  return {
    ...collector(spec),
    host: server.host,
    ...(server.port === undefined ? {} : { port: server.port }),
    sampledFraction: findings.fraction(spec.sampledFraction, `${field}.sampledFraction`),
  }
}

/** Host and port that are written, the port in either place. Undefined if the address is none: the collector stays off. */
function serverOf(
  { address = '', port: apart }: { readonly address?: string | undefined; readonly port?: number | undefined },
  field: string,
  findings: Findings,
): HostPort | undefined {
  const server = parseHostPort(address)
  if (server === undefined) {
    const message = `must be ${hostPortForm}, not ${JSON.stringify(address)}; the collector stays off`
    findings.report('OSM_CONFIG_COLLECTOR', `${field}.address`, message)
    return undefined
  }
  const port = server.port ?? (apart || undefined)
  if (apart && port !== apart)
    findings.report(
      'OSM_CONFIG_COLLECTOR',
      `${field}.port`,
      `is ${apart}, but the address names port ${port}, which takes precedence; remove one of them`,
      'warning',
    )
  return { host: server.host, ...(port === undefined ? {} : { port }) }
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
  const server = spec.address ? serverOf(spec, field, findings) : undefined
  if (spec.address && server === undefined) return undefined
  if (server?.port === undefined) {
    findings.report('OSM_CONFIG_COLLECTOR', field, 'is on without address and port and stays off; give both')
    return undefined
  }
  return {
    host: server.host,
    port: server.port,
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
    `must be one of ${osmLogLevels.join(', ')}, not ${JSON.stringify(written)}${didYouMean(written, osmLogLevels)}; info applies`.replace(
      '?; info',
      '? Info',
    ),
  )
  return 'info'
}
