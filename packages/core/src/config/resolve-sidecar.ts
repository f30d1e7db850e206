import type { TlsVersion } from '@osm-ts/driver-api/policy'

import { isDnsLabel } from '../identity/index.js'
import type { MeshConfigSpec } from '../spec/schema/mesh-config.js'
import type { Findings } from './findings.js'
import { knownCipherSuites, knownCurves } from './tls-names.js'
import type { ConfigEnvironment, DriverEntry, SidecarConfig, SidecarImages } from './mesh-config.js'

type SidecarSpec = NonNullable<MeshConfigSpec['sidecar']>

const minResyncMs = 30_000
const defaultClass = 'pipy'

/** `spec.sidecar` with all defaults. */
export function resolveSidecar(spec: SidecarSpec, environment: ConfigEnvironment, findings: Findings): SidecarConfig {
  return {
    enablePrivilegedInitContainer: spec.enablePrivilegedInitContainer ?? false,
    logLevel: spec.logLevel === 'warn' ? 'warning' : (spec.logLevel ?? 'error'),
    maxDataPlaneConnections: spec.maxDataPlaneConnections ?? 0,
    sidecarClass: resolveClass(spec.sidecarClass, environment, findings),
    images: imagesOf(spec),
    envoyImages: { sidecarImage: spec.envoyImage ?? '', sidecarWindowsImage: spec.envoyWindowsImage ?? '' },
    drivers: resolveDrivers(spec.sidecarDrivers ?? [], findings),
    resources: { limits: spec.resources?.limits ?? {}, requests: spec.resources?.requests ?? {} },
    configResyncIntervalMs: resolveResync(spec.configResyncInterval, findings),
    sidecarTimeoutMs: resolveTimeout(spec.sidecarTimeout, findings),
    ...resolveTls(spec, findings),
    cipherSuites: knownCipherSuites(spec.cipherSuites ?? [], findings),
    ecdhCurves: knownCurves(spec.ecdhCurves ?? [], findings),
    localProxyMode: spec.localProxyMode ?? 'Localhost',
    localDNSProxy: {
      enable: spec.localDNSProxy?.enable ?? false,
      upstreams: [
        spec.localDNSProxy?.primaryUpstreamDNSServerIPAddr,
        spec.localDNSProxy?.secondaryUpstreamDNSServerIPAddr,
      ].filter((server): server is string => server !== undefined && server !== ''),
    },
  }
}

function resolveClass(written: string | undefined, environment: ConfigEnvironment, findings: Findings): string {
  const fallback = environment.OSM_DEFAULT_SIDECAR_CLASS?.toLowerCase() || defaultClass
  if (written === undefined || written === '') return fallback
  const name = written.toLowerCase()
  if (isDnsLabel(name)) return name
  findings.report('OSM_CONFIG_CLASS', 'spec.sidecar.sidecarClass', `must be the name of a driver; ${fallback} applies`)
  return fallback
}

function imagesOf(spec: Partial<SidecarImages>): SidecarImages {
  return {
    sidecarImage: spec.sidecarImage ?? '',
    sidecarWindowsImage: spec.sidecarWindowsImage ?? '',
    initContainerImage: spec.initContainerImage ?? '',
  }
}

function resolveDrivers(
  written: NonNullable<SidecarSpec['sidecarDrivers']>,
  findings: Findings,
): readonly DriverEntry[] {
  const drivers = new Map<string, DriverEntry>()
  for (const [index, driver] of written.entries()) {
    const field = `spec.sidecar.sidecarDrivers[${index}]`
    const name = driver.sidecarName.toLowerCase()
    if (driver.sidecarDisabledMTLS === true)
      findings.report(
        'OSM_CONFIG_MTLS',
        `${field}.sidecarDisabledMTLS`,
        'is not obeyed: traffic between sidecars is always mutual TLS',
        'warning',
      )
    if (!isDnsLabel(name)) {
      findings.report('OSM_CONFIG_DRIVER', `${field}.sidecarName`, 'must be a DNS label; the entry is left out')
    } else if (drivers.has(name)) {
      findings.report(
        'OSM_CONFIG_DRIVER',
        `${field}.sidecarName`,
        `${name} has an earlier entry, which takes precedence`,
      )
    } else {
      const { proxyServerPort, config = {} } = driver
      drivers.set(name, { name, ...imagesOf(driver), proxyServerPort, config })
    }
  }
  return [...drivers.values()]
}

function resolveResync(written: string | undefined, findings: Findings): number {
  const field = 'spec.sidecar.configResyncInterval'
  const milliseconds = findings.duration(written, field, 0)
  if (milliseconds === 0 || milliseconds >= minResyncMs) return milliseconds
  findings.report('OSM_CONFIG_DURATION', field, 'must be 0s (off) or at least 30s; 30s applies', 'warning')
  return minResyncMs
}

/** Zero means unset, as in Go. Users of other proxies take it for never. */
function resolveTimeout(seconds: number | undefined, findings: Findings): number | undefined {
  if (seconds === undefined) return undefined
  if (seconds > 0) return seconds * 1000
  findings.report(
    'OSM_CONFIG_DURATION',
    'spec.sidecar.sidecarTimeout',
    `${seconds} has no effect: traffic.tcpIdleTimeout and traffic.streamIdleTimeout apply, or else 1h and 5m; write 0s there for never`,
    'warning',
  )
  return undefined
}

const tlsOrder: readonly TlsVersion[] = ['TLSv1_0', 'TLSv1_1', 'TLSv1_2', 'TLSv1_3']

function resolveTls(
  { tlsMinProtocolVersion, tlsMaxProtocolVersion }: SidecarSpec,
  findings: Findings,
): Pick<SidecarConfig, 'tlsMinProtocolVersion' | 'tlsMaxProtocolVersion'> {
  const rank = (version: TlsVersion): number => tlsOrder.indexOf(version)
  const [lowest, highest]: readonly [TlsVersion, TlsVersion] = ['TLSv1_2', 'TLSv1_3']
  // "Auto" means: whatever the mesh allows.
  const min = auto(tlsMinProtocolVersion, lowest)
  const max = auto(tlsMaxProtocolVersion, highest)
  const raised = rank(min) < rank(lowest) ? lowest : min
  if (raised !== min)
    findings.report(
      'OSM_CONFIG_TLS',
      'spec.sidecar.tlsMinProtocolVersion',
      `${min} is too old; ${raised} applies`,
      'warning',
    )
  if (rank(max) < rank(raised))
    findings.report(
      'OSM_CONFIG_TLS',
      'spec.sidecar.tlsMaxProtocolVersion',
      `${max} is below the minimum ${raised}: sidecars will refuse all traffic between them; use ${highest}`,
    )
  return { tlsMinProtocolVersion: raised, tlsMaxProtocolVersion: max }
}

function auto(version: TlsVersion | undefined, meaning: TlsVersion): TlsVersion {
  return version === undefined || version === 'TLS_AUTO' ? meaning : version
}
