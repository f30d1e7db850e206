import type { NetworkGateway } from '../endpoints/endpoint.js'
import { isAddress, isCidr } from '../spec/addresses.js'
import { consentNeeded } from '../spec/reference-grant.js'
import type { MeshConfigSpec } from '../spec/schema/mesh-config.js'
import type { Findings } from './findings.js'
import { parseHostPort } from './host-port.js'
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
    plaintextNamespaces: plaintextNamespaces(spec, findings),
    networkGateway: networkGateway(spec, findings),
    inboundExternalAuthorization: externalAuthorization(spec.inboundExternalAuthorization, findings),
    crossNamespace: { ...consentNeeded, ...spec.crossNamespace },
    escapedSlashes: spec.escapedSlashes ?? 'Reject',
    keepUnderscoreHeaders: spec.keepUnderscoreHeaders ?? false,
    policyWithdrawalTimeoutMs: findings.duration(
      spec.policyWithdrawalTimeout,
      'spec.traffic.policyWithdrawalTimeout',
      defaultWithdrawalMs,
    ),
    tcpIdleTimeoutMs: idleTimeout(spec.tcpIdleTimeout, 'spec.traffic.tcpIdleTimeout', findings),
    streamIdleTimeoutMs: idleTimeout(spec.streamIdleTimeout, 'spec.traffic.streamIdleTimeout', findings),
  }
}

/** Under SMI policy no one is let in whose identity is not known. */
function plaintextNamespaces(spec: TrafficSpec, findings: Findings): readonly string[] {
  const written = spec.plaintextNamespaces ?? []
  if (written.length === 0 || spec.enablePermissiveTrafficPolicyMode === true) return written
  findings.report(
    'OSM_CONFIG_NOT_READ',
    'spec.traffic.plaintextNamespaces',
    'has no effect while enablePermissiveTrafficPolicyMode is false: under SMI policy plaintext is never used',
    'warning',
  )
  return []
}

function networkGateway({ networkGateway: written }: TrafficSpec, findings: Findings): NetworkGateway | undefined {
  if (written === undefined || isAddress(written.address)) return written
  const text = JSON.stringify(written.address)
  findings.report(
    'OSM_CONFIG_ADDRESS',
    'spec.traffic.networkGateway.address',
    `${text} is not an IP address; machines of other networks connect to workloads themselves`,
  )
  return undefined
}

function idleTimeout(written: string | undefined, field: string, findings: Findings): number | undefined {
  return written === undefined || written === '' ? undefined : findings.duration(written, field, 0)
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
      `${text} is not an address range such as 10.0.0.0/8; it is ignored`,
    )
    return false
  })
}

function interfaces(written: readonly string[] | undefined, findings: Findings): readonly string[] {
  return (written ?? []).filter((name, index) => {
    // The kernel's own rule. Names end up in firewall rules.
    if (/^[^\s/\p{Cc}]{1,15}$/u.test(name) && name !== '.' && name !== '..' && !name.startsWith('-')) return true
    const field = `spec.traffic.networkInterfaceExclusionList[${index}]`
    findings.report('OSM_CONFIG_ADDRESS', field, 'is not a name of a network interface; it is ignored')
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
  const server = parseHostPort(spec.address ?? '')
  const port = server?.port ?? spec.port
  if (server !== undefined && port)
    return { ...common, host: server.host, port, failureModeAllow: spec.failureModeAllow ?? false }
  findings.report(
    'OSM_CONFIG_EXTERNAL_AUTHORIZATION',
    field,
    'is enabled without a valid address and port, so all inbound requests are denied; set both, or set enable to false',
  )
  // A name that never resolves (RFC 6761): anyone who requested authorization does not get a mesh without it.
  return { ...common, host: 'unconfigured.invalid', port: 1, failureModeAllow: false }
}
