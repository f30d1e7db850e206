import type { Problem } from '../problem.js'
import { featureFlagNames, type MeshConfigSpec } from '../spec/schema/mesh-config.js'
import { pluginChainNames } from '../spec/schema/plugin.js'
import { Findings, type SettingsOrigin } from './findings.js'
import type { CertificateConfig, ConfigEnvironment, MeshConfig, PluginStage } from './mesh-config.js'
import { resolveObservability } from './resolve-observability.js'
import { resolveSidecar } from './resolve-sidecar.js'
import { resolveTraffic } from './resolve-traffic.js'
import { agreeableTls } from './tls-agreement.js'

const hourMs = 3_600_000
const defaultValidityMs = 24 * hourMs
/** A certificate shorter than this would expire while it is being replaced. */
const minValidityMs = 1000
/** Where osm-edge has the repo of its Pipy. */
const LOCAL_REPO = '127.0.0.1'
const keySizes = { smallest: 2048, largest: 4096 }

/** What settings are resolved with. */
export interface ResolveOptions {
  /** Namespace of the control plane. */
  readonly osmNamespace: string
  /** DNS domain of services. */
  readonly clusterDomain: string
  readonly environment: ConfigEnvironment
  /** What holds where the object says nothing. */
  readonly preset?: MeshConfigSpec
}

/**
 * The configuration that a MeshConfig stands for. Settings that can't be used give way to safe ones, each with a
 * problem.
 */
export function resolveMeshConfig(
  written: MeshConfigSpec | undefined,
  options: ResolveOptions,
  origin: SettingsOrigin,
): { readonly config: MeshConfig; readonly problems: readonly Problem[] } {
  const findings = new Findings(origin)
  const spec = overlay(options.preset ?? {}, written ?? {})
  const { osmNamespace, clusterDomain, environment } = options
  const config: MeshConfig = {
    clusterSet: Object.fromEntries((spec.clusterSet?.properties ?? []).map(({ name, value }) => [name, value])),
    sidecar: agreeableTls(
      resolveSidecar(spec.sidecar ?? {}, environment, findings),
      spec.certificate?.keyAlgorithm ?? 'ECDSA',
      findings,
    ),
    traffic: resolveTraffic(spec.traffic ?? {}, findings),
    observability: resolveObservability(
      spec.observability ?? {},
      `jaeger.${osmNamespace}.svc.${clusterDomain}`,
      findings,
    ),
    certificate: resolveCertificate(spec.certificate ?? {}, findings),
    featureFlags: resolveFlags(spec.featureFlags ?? {}),
    pluginChains: resolveChains(spec.pluginChains ?? {}),
  }
  reportUnread(spec, findings)
  return { config: deepFreeze(config), problems: findings.problems }
}

/** Flags of OSM and osm-edge that change nothing here, and why. */
const unreadFlags = {
  enableMulticlusterMode: 'services of other clusters are reached wherever a ServiceImport names them',
  enableSnapshotCacheMode: 'there is one way to serve sidecars',
  enableAsyncProxyServiceMapping: 'there is one way to find the services of a sidecar',
} as const satisfies Partial<Record<(typeof featureFlagNames)[number], string>>

/** Settings that are accepted and have no effect, where they request something. What the chart writes for everybody requests nothing. */
function reportUnread({ featureFlags = {}, repoServer }: MeshConfigSpec, findings: Findings): void {
  const report = (field: string, reason: string): void =>
    findings.report('OSM_CONFIG_NOT_READ', field, `is not read and has no effect: ${reason}`, 'warning')
  for (const [flag, reason] of Object.entries(unreadFlags))
    if (featureFlags[flag as keyof typeof unreadFlags] === true) report(`spec.featureFlags.${flag}`, reason)
  const repo = 'the repo of class pipy is part of osm-controller'
  if (!['', LOCAL_REPO].includes(repoServer?.ipaddr ?? '')) report('spec.repoServer.ipaddr', repo)
  if ((repoServer?.codebase ?? '') !== '') report('spec.repoServer.codebase', repo)
}

function resolveCertificate(spec: NonNullable<MeshConfigSpec['certificate']>, findings: Findings): CertificateConfig {
  const field = 'spec.certificate'
  const { ingressGateway, keyAlgorithm = 'ECDSA', serviceCertificates = 'shared' } = spec
  const validity = (text: string | undefined, at: string): number =>
    findings.duration(text, at, defaultValidityMs, { minMs: minValidityMs })
  // Looked at for both algorithms: a bad size is a mistake even while it does not count.
  const bits = keySize(spec.certKeyBitSize, findings)
  return {
    serviceCertValidityMs: validity(spec.serviceCertValidityDuration, `${field}.serviceCertValidityDuration`),
    key: keyAlgorithm === 'RSA' ? { algorithm: 'RSA', bits } : { algorithm: 'ECDSA' },
    serviceCertificates,
    ingressGateway: ingressGateway && {
      subjectAltNames: ingressGateway.subjectAltNames,
      validityMs: validity(ingressGateway.validityDuration, `${field}.ingressGateway.validityDuration`),
      secret: ingressGateway.secret,
    },
  }
}

function keySize(written: number | undefined, findings: Findings): number {
  const { smallest, largest } = keySizes
  if (written === undefined) return smallest
  if (written >= smallest && written <= largest) return written
  findings.report(
    'OSM_CONFIG_KEY_SIZE',
    'spec.certificate.certKeyBitSize',
    `must be from ${smallest} to ${largest}, not ${written}; ${smallest} applies`,
  )
  return smallest
}

function resolveFlags(spec: NonNullable<MeshConfigSpec['featureFlags']>): MeshConfig['featureFlags'] {
  const flags = Object.fromEntries(featureFlagNames.map((name) => [name, spec[name] ?? false]))
  // Two projects, two names, one switch.
  const healthChecks = flags.enableSidecarActiveHealthChecks === true || flags.enableEnvoyActiveHealthChecks === true
  return {
    ...flags,
    enableSidecarActiveHealthChecks: healthChecks,
    enableEnvoyActiveHealthChecks: healthChecks,
    // Object.fromEntries forgets the names; all of them are there.
  } as MeshConfig['featureFlags']
}

function resolveChains(spec: NonNullable<MeshConfigSpec['pluginChains']>): MeshConfig['pluginChains'] {
  const stages = (name: (typeof pluginChainNames)[number]): readonly PluginStage[] =>
    (spec[name] ?? []).map(({ plugin, priority, disable = false }) => ({ plugin, priority, disable }))
  return Object.fromEntries(pluginChainNames.map((name) => [name, stages(name)])) as MeshConfig['pluginChains']
}

/** The members of both; where both have one, that of the second. Lists are taken whole. */
function overlay<T extends object>(under: T, over: T): T {
  const merged = new Map<string, unknown>(Object.entries(under))
  for (const [name, value] of Object.entries(over)) {
    const below = merged.get(name)
    merged.set(name, isMembers(below) && isMembers(value) ? overlay(below, value) : value)
  }
  // The result has the members of T with values of their types: each comes from one of the two.
  return Object.fromEntries(merged) as T
}

function isMembers(value: unknown): value is object {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function deepFreeze<T>(value: T): T {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
