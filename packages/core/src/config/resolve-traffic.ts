import { isCidr } from '../spec/addresses.js'
import type { MeshConfigSpec } from '../spec/schema/mesh-config.js'
import type { Findings } from './findings.js'
import type { ExternalAuthorizationConfig, TrafficConfig } from './mesh-config.js'

type TrafficSpec = NonNullable<MeshConfigSpec['traffic']>

const defaultWithdrawalMs = 30_000

/** `spec.traffic` with all defaults. */
export function resolveTraffic(spec: TrafficSpec, findings: Findings): TrafficConfig {
  if (spec.useHTTPSIngress !== undefined)
    findings.report(
      'OSM_CONFIG_NOT_READ',
      'spec.traffic.useHTTPSIngress',
      'is not read: an IngressBackend says it for each backend',
      'warning',
    )
  return {
    interceptionMode: spec.interceptionMode ?? 'iptables',
    enableEgress: spec.enableEgress ?? false,
    outboundIPRangeExclusionList: ranges(spec.outboundIPRangeExclusionList, 'outboundIPRangeExclusionList', findings),
    outboundIPRangeInclusionList: ranges(spec.outboundIPRangeInclusionList, 'outboundIPRangeInclusionList', findings),
    outboundPortExclusionList: spec.outboundPortExclusionList ?? [],
    inboundPortExclusionList: spec.inboundPortExclusionList ?? [],
    networkInterfaceExclusionList: interfaces(spec.networkInterfaceExclusionList, findings),
    http1PerRequestLoadBalancing: spec.http1PerRequestLoadBalancing ?? false,
    http2PerRequestLoadBalancing: spec.http2PerRequestLoadBalancing ?? true,
    enablePermissiveTrafficPolicyMode: spec.enablePermissiveTrafficPolicyMode ?? false,
    inboundExternalAuthorization: externalAuthorization(spec.inboundExternalAuthorization, findings),
    policyWithdrawalTimeoutMs: findings.duration(
      spec.policyWithdrawalTimeout,
      'spec.traffic.policyWithdrawalTimeout',
      defaultWithdrawalMs,
    ),
  }
}

function ranges(
  written: readonly string[] | undefined,
  name: keyof TrafficSpec,
  findings: Findings,
): readonly string[] {
  return (written ?? []).filter((range, index) => {
    if (isCidr(range)) return true
    const text = JSON.stringify(range)
    findings.report(
      'OSM_CONFIG_ADDRESS',
      `spec.traffic.${name}[${index}]`,
      `${text} is no range such as 10.0.0.0/8; it is left out`,
    )
    return false
  })
}

function interfaces(written: readonly string[] | undefined, findings: Findings): readonly string[] {
  return (written ?? []).filter((name, index) => {
    // The kernel's own rule. Names end up in firewall rules.
    if (/^[^\s/\p{Cc}]{1,15}$/u.test(name) && name !== '.' && name !== '..' && !name.startsWith('-')) return true
    const field = `spec.traffic.networkInterfaceExclusionList[${index}]`
    findings.report('OSM_CONFIG_ADDRESS', field, 'is no name of a network interface; it is left out')
    return false
  })
}

function externalAuthorization(
  spec: TrafficSpec['inboundExternalAuthorization'],
  findings: Findings,
): ExternalAuthorizationConfig | undefined {
  if (spec?.enable !== true) return undefined
  const field = 'spec.traffic.inboundExternalAuthorization'
  const common = {
    statPrefix: spec.statPrefix || 'inboundExtAuthz',
    timeoutMs: findings.duration(spec.timeout, `${field}.timeout`, 1000, { minMs: 1 }),
  }
  if (spec.address && spec.port)
    return { ...common, host: spec.address, port: spec.port, failureModeAllow: spec.failureModeAllow ?? false }
  findings.report(
    'OSM_CONFIG_EXTERNAL_AUTHORIZATION',
    field,
    'is on without address and port: nobody can be asked and all inbound requests are denied; give both or set enable to false',
  )
  // A name that never resolves (RFC 6761): whoever asked for authorization does not get a mesh without it.
  return { ...common, host: 'unconfigured.invalid', port: 1, failureModeAllow: false }
}
