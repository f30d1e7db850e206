import { OptionChecker } from './option-checker.js'
import type { InterceptionProblem } from './errors.js'
import { interceptionDefaults as defaults, type InterceptionOptions, type InterceptionSettings } from './options.js'

/** Checked settings, or everything that is wrong with the options. */
export type InterceptionCheck =
  | { readonly ok: true; readonly settings: InterceptionSettings }
  | { readonly ok: false; readonly problems: readonly [InterceptionProblem, ...InterceptionProblem[]] }

/** Checks every option by its grammar and fills in defaults. Gives all problems at once, never an exception. */
export function checkInterception(options: InterceptionOptions): InterceptionCheck {
  const check = new OptionChecker()
  const settings: InterceptionSettings = {
    proxyUid: check.uid('proxyUid', options.proxyUid ?? defaults.proxyUid),
    bypassGid: options.bypassGid === undefined ? undefined : check.gid('bypassGid', options.bypassGid),
    inboundListenerPort: check.port('inboundListenerPort', options.inboundListenerPort ?? defaults.inboundListenerPort),
    outboundListenerPort: check.port(
      'outboundListenerPort',
      options.outboundListenerPort ?? defaults.outboundListenerPort,
    ),
    adminPort: check.port('adminPort', options.adminPort ?? defaults.adminPort),
    proxyServicePorts: check.ports('proxyServicePorts', options.proxyServicePorts ?? defaults.proxyServicePorts),
    inboundPortExclusions: check.ports('inboundPortExclusions', options.inboundPortExclusions),
    inboundPortInclusions:
      options.inboundPortInclusions === undefined
        ? undefined
        : check.ports('inboundPortInclusions', options.inboundPortInclusions),
    outboundPortExclusions: check.ports('outboundPortExclusions', options.outboundPortExclusions),
    outboundIpRangeExclusions: check.ranges('outboundIpRangeExclusions', options.outboundIpRangeExclusions),
    outboundIpRangeInclusions: check.ranges('outboundIpRangeInclusions', options.outboundIpRangeInclusions),
    interfaceExclusions: check.interfaces('interfaceExclusions', options.interfaceExclusions),
    podAddress:
      options.localProxyMode === 'PodIP' ? check.podAddresses('podAddresses', options.podAddresses) : undefined,
    dnsCapture: options.dnsCapture === undefined ? undefined : check.dnsCapture('dnsCapture', options.dnsCapture),
    nameservers: options.nameservers === undefined ? 'waiting' : check.nameservers('nameservers', options.nameservers),
    ipv6: options.ipv6 ?? 'intercept',
  }
  check.distinctPorts(settings)
  const [first, ...others] = check.problems
  return first === undefined ? { ok: true, settings } : { ok: false, problems: [first, ...others] }
}
