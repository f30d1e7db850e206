import { formatObjectRef, type ServiceReport } from '@osm-ts/core'

import { renderSpans, span } from '../output/style.js'
import { renderTitle } from '../output/table.js'
import { describeMatch } from '../proxy/policy-summary.js'

/** The lines of `osm policy show`. */
export function renderService(report: ServiceReport, color: boolean): readonly string[] {
  const { service, accounts, inboundServices, trafficPolicies, hosts, weight, endpoints, backpressure, ingress } =
    report
  const section = (title: string, lines: readonly string[]): readonly string[] => [
    '',
    renderTitle(title, '', color),
    ...(lines.length === 0 ? ['none'] : lines).map((line) => renderSpans([span(`  ${line}`)], color)),
  ]
  return [
    renderSpans([span(`${service.namespace}/${service.name}`, 'bold'), span(`  weight ${weight}`, 'dim')], color),
    ...section(
      'SERVICE ACCOUNTS',
      accounts.map(({ identity, services }) => `${identity} is behind ${services.join(', ')}`),
    ),
    ...section('CALLERS', unique(accounts.flatMap(({ inbound }) => inbound))),
    ...section('CALLING SERVICES', inboundServices),
    ...section('CALLS', unique(accounts.flatMap(({ outbound }) => outbound))),
    ...section(
      'TRAFFICTARGETS',
      trafficPolicies.map(({ target, source, destination, httpRoutes, tcpPorts }) => {
        const ports = tcpPorts === '*' ? ['any connection'] : tcpPorts.map((port) => `connections to port ${port}`)
        const what = [...httpRoutes.map(describeMatch), ...ports].join('; ') || 'nothing'
        return `${formatObjectRef(target)}: ${nameOf(source.account)} → ${nameOf(destination.account)}: ${what}`
      }),
    ),
    ...section('HOST NAMES', hosts),
    ...section(
      'ENDPOINTS',
      endpoints.map(
        ({ address, port, identity }) => `${address} port ${port}${identity === undefined ? '' : ` (${identity})`}`,
      ),
    ),
    ...section('LIMITS', backpressure === undefined ? [] : [formatObjectRef(backpressure)]),
    ...section('INGRESS', [
      ...ingress.policies.map(
        ({ ingress: object, targetPort, tls }) =>
          `${formatObjectRef(object)}: port ${targetPort}, ${tls === 'none' ? 'without TLS' : tls}`,
      ),
      ...Object.entries(ingress.routes).map(
        ([host, routes]) => `host ${host}: ${routes.map(describeMatch).join('; ')}`,
      ),
    ]),
  ]
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}

function nameOf({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${name}.${namespace}`
}
