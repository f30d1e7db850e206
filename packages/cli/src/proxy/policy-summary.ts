import type {
  ConnectionShares,
  HttpAllowRule,
  InboundPart,
  OutboundMatch,
  OutboundPart,
  OutboundRoute,
  PartHash,
  ProxyPolicy,
  RoutedPathMatch,
  WeightedUpstream,
} from '@osm-ts/driver-api/policy'

import { formatPercent } from '../output/format.js'
import { renderSpans, span } from '../output/style.js'
import { renderTitle } from '../output/table.js'
import { membersOf, partOf } from './find-parts.js'
import { shortVersionLength } from './render-status.js'

/** What a policy means, for people: who may call this proxy for what, and where its own calls go. */
export function summarizePolicy(policy: ProxyPolicy, color: boolean): readonly string[] {
  const { proxy } = policy
  const inbound = proxy.inbound.flatMap(({ part, local }) => {
    const served = partOf(policy, 'inbound', part)
    return served === undefined ? [] : inboundLines(policy, served, `${local.address}:${local.port}`)
  })
  const outbound = membersOf(policy, 'outbound', proxy.outbound).flatMap(outboundLines)
  const egress = membersOf(policy, 'egress', proxy.egress).map(
    ({ protocol, port, hosts, serverNames, cidrs }) =>
      `${[...hosts, ...serverNames, ...cidrs].join(', ') || 'any address'} port ${port} (${protocol})`,
  )
  return [
    renderSpans(
      [span(`${proxy.namespace}/${proxy.workload.instance}`, 'bold'), span(`  ${proxy.spiffeId}`, 'accent')],
      color,
    ),
    renderSpans(
      [span(`${proxy.class}, ${proxy.mode} mode, version ${policy.version.slice(0, shortVersionLength)}`, 'dim')],
      color,
    ),
    '',
    renderTitle('INBOUND', 'who may call it', color),
    ...section(inbound, 'no caller is allowed'),
    '',
    renderTitle('OUTBOUND', 'where its calls go', color),
    ...section(outbound, 'no destination in the mesh is allowed'),
    ...(egress.length === 0 ? [] : ['', renderTitle('EGRESS', 'outside the mesh', color), ...section(egress, '')]),
  ]
}

function section(lines: readonly string[], nothing: string): readonly string[] {
  return (lines.length === 0 ? [nothing] : lines).map((line) => renderSpans([span(`  ${line}`)], false))
}

function inboundLines(policy: ProxyPolicy, part: InboundPart, local: string): readonly string[] {
  const title = `${part.service.namespace}/${part.service.name}:${part.port} (${part.protocol}) → ${local}`
  switch (part.rules.kind) {
    case 'deny':
      return [title, '  no caller: the port is in its deny form']
    case 'tcp':
      return [title, `  any connection       from ${callers(policy, part.rules.allow)}`]
    case 'http':
      return [title, ...part.rules.allow.map((rule) => `  ${allowLine(policy, rule)}`)]
  }
}

function allowLine(policy: ProxyPolicy, { match, allow }: HttpAllowRule): string {
  return `${describeMatch(match).padEnd(30)}  from ${callers(policy, allow)}`
}

function callers(policy: ProxyPolicy, allow: PartHash): string {
  const principals = partOf(policy, 'principals', allow)
  if (principals === undefined) return 'unknown'
  if (principals.match === 'trustDomain') return `every identity of ${principals.trustDomain}`
  return principals.principals.join(', ') || 'no caller'
}

function outboundLines(part: OutboundPart): readonly string[] {
  const title = `${part.service.namespace}/${part.service.name}:${part.port} (${part.protocol})`
  if (part.rules.kind === 'tcp') {
    const { serverNameRoutes = [] } = part.rules
    return [
      title,
      ...serverNameRoutes.map(
        (route) => `  ${`TLS for ${route.serverNames.join(', ')}`.padEnd(30)}  → ${connectionEnd(route)}`,
      ),
      `  any connection                  → ${connectionEnd(part.rules)}`,
    ]
  }
  return [
    title,
    ...part.rules.routes.map((route) => `  ${describeMatch(route.match).padEnd(30)}  → ${routeEnd(route)}`),
  ]
}

function connectionEnd({ targets, errorWeight = 0 }: ConnectionShares): string {
  return shares(errorWeight > 0 ? [...targets, { upstream: 'closed', weight: errorWeight }] : targets)
}

function routeEnd(route: OutboundRoute): string {
  const { targets, errorWeight = 0, errorStatus } = route
  const errors = errorWeight > 0 ? [{ upstream: `error ${errorStatus ?? 500}`, weight: errorWeight }] : []
  const end = route.redirect === undefined ? shares([...targets, ...errors]) : `redirect ${route.redirect.status}`
  const changes = describeChanges(route)
  return changes === '' ? end : `${end} (${changes})`
}

/** What a route does besides sending requests to upstreams, in a few words; empty if nothing. */
export function describeChanges({
  targets,
  redirect,
  rewrite,
  requestHeaders,
  responseHeaders,
  mirrors,
  retries,
  timeoutMs,
}: OutboundRoute): string {
  const changes = {
    redirect,
    rewrite,
    'request headers': requestHeaders,
    'response headers': responseHeaders,
    'copies to': mirrors,
    retries,
    timeout: timeoutMs > 0 ? `${timeoutMs}ms` : undefined,
  }
  const own = targets.filter((target) => target.requestHeaders !== undefined || target.responseHeaders !== undefined)
  return [
    ...Object.entries(changes).flatMap(([name, change]) =>
      change === undefined ? [] : [`${name} ${typeof change === 'string' ? change : JSON.stringify(change)}`],
    ),
    ...own.map(({ upstream, weight: _weight, ...headers }) => `for ${upstream} ${JSON.stringify(headers)}`),
  ].join(', ')
}

function shares(targets: readonly WeightedUpstream[]): string {
  const sum = targets.reduce((total, { weight }) => total + weight, 0)
  if (sum === 0) return 'nowhere'
  if (targets.length === 1) return targets[0]?.upstream ?? 'nowhere'
  return targets.map(({ upstream, weight }) => `${upstream} ${formatPercent(weight / sum)}`).join(', ')
}

/** A match as one would say it: `GET /buy-a-book/new`. */
export function describeMatch({ path, methods, headers = [], queryParameters = [] }: OutboundMatch): string {
  const conditions = headers.map(({ name, match, invert }) =>
    match.type === 'present'
      ? `${invert === true ? 'without' : 'with'} ${name}`
      : `${name}${invert === true ? ' not' : ''} ${match.type === 'exact' ? '=' : match.type} ${match.value}`,
  )
  const said = [
    methods?.join('|') ?? '',
    path === undefined ? '' : describePath(path),
    ...conditions,
    ...queryParameters.map(({ name, match }) => `?${name} ${match.type === 'exact' ? '=' : match.type} ${match.value}`),
  ]
  return said.filter((text) => text !== '').join(' ') || 'any request'
}

function describePath({ type, value }: RoutedPathMatch): string {
  if (type === 'prefix') return `${value}…`
  return type === 'segments' ? `${value}[/…]` : value
}
