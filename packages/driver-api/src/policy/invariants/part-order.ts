import type { IssueList } from '../issues.js'
import { compareAllowRules, compareBy, compareCanonical, compareText, firstUnsorted, type Compare } from '../order.js'
import type {
  InboundPart,
  IngressPart,
  OutboundMatch,
  OutboundRoute,
  Part,
  PolicyEndpoint,
  ProbeBinding,
  ProxyPart,
  RateLimits,
  RouteLimits,
  RouteMatch,
  RouteTarget,
  SocketAddress,
  UpstreamPart,
  UpstreamTls,
  WeightedUpstream,
} from '../parts.js'

/** Checks that every unordered list is sorted and has no duplicates, so that equal policies have equal bytes. */
export function checkPartOrder(part: Part, issues: IssueList): void {
  switch (part.kind) {
    case 'proxy':
      checkProxy(part, issues)
      return
    case 'principals':
      if (part.match === 'list') texts(part.principals, issues.below('principals'))
      return
    case 'mesh':
      sorted(
        part.accessLog.openTelemetry?.attributes,
        by('key'),
        issues.below('accessLog', 'openTelemetry', 'attributes'),
      )
      return
    case 'inbound':
      checkInbound(part, issues)
      return
    case 'ingress':
      checkIngress(part, issues)
      return
    case 'outbound':
      texts(part.addresses, issues.below('addresses'))
      texts(part.hosts, issues.below('hosts'))
      if (part.rules.kind === 'http') checkRoutes(part.rules.routes, issues.below('rules', 'routes'))
      else {
        const { serverNameRoutes = [] } = part.rules
        targets(part.rules.targets, issues.below('rules', 'targets'))
        sorted(serverNameRoutes, compareCanonical, issues.below('rules', 'serverNameRoutes'))
        serverNameRoutes.forEach((route, index) => {
          const at = issues.below('rules', 'serverNameRoutes', index)
          texts(route.serverNames, at.below('serverNames'))
          targets(route.targets, at.below('targets'))
        })
      }
      return
    case 'upstream':
      checkUpstream(part, issues)
      return
    case 'endpoints':
      sorted(part.endpoints, bySocket, issues.below('endpoints'))
      part.endpoints.forEach(({ tls }, index) => {
        if (tls !== undefined) checkTls(tls, issues.below('endpoints', index, 'tls'))
      })
      return
    case 'clientRules':
      sorted(part.retries, by('outbound'), issues.below('retries'))
      part.retries.forEach(({ policy }, index) => {
        texts(policy.retryOn, issues.below('retries', index, 'policy', 'retryOn'))
      })
      sorted(part.preFilters, by('outbound'), issues.below('preFilters'))
      part.preFilters.forEach(({ allow }, index) => {
        matches(allow, issues.below('preFilters', index, 'allow'))
      })
      sorted(part.egressCredentials, by('egress'), issues.below('egressCredentials'))
      sorted(part.gateways, by('egress'), issues.below('gateways'))
      part.gateways.forEach((gateway, index) => {
        targets(gateway.targets, issues.below('gateways', index, 'targets'))
      })
      return
    case 'egress':
      texts(part.hosts, issues.below('hosts'))
      texts(part.serverNames, issues.below('serverNames'))
      texts(part.cidrs, issues.below('cidrs'))
      checkRoutes(part.routes, issues.below('routes'))
      targets(part.targets, issues.below('targets'))
      return
    case 'dns':
      sorted(part.records, by('name'), issues.below('records'))
      part.records.forEach(({ addresses }, index) => {
        texts(addresses, issues.below('records', index, 'addresses'))
      })
      return
    case 'set':
      sorted(part.members, by('id'), issues.below('members'))
      sorted(part.sets, by('id'), issues.below('sets'))
      return
    case 'trust':
    case 'extension':
      return
  }
}

const bySocket: Compare<Pick<PolicyEndpoint, 'address' | 'port'> | SocketAddress> = compareBy(
  (a, b) => compareText(a.address, b.address),
  (a, b) => a.port - b.port,
)

function checkProxy(part: ProxyPart, issues: IssueList): void {
  texts(part.ipFamilies, issues.below('ipFamilies'))
  texts(part.addresses, issues.below('addresses'))
  sorted(part.probes, compareBy<ProbeBinding>(by('container'), by('probe')), issues.below('probes'))
  sorted(part.inbound, by('id'), issues.below('inbound'))
  sorted(part.ingress, by('id'), issues.below('ingress'))
  sorted(part.outboundBindings, by('id'), issues.below('outboundBindings'))
}

function checkInbound(part: InboundPart, issues: IssueList): void {
  texts(part.serverNames, issues.below('serverNames'))
  checkRateLimits(part.rateLimits, issues.below('rateLimits'))
  if (part.rules.kind !== 'http') return
  texts(part.rules.hosts, issues.below('rules', 'hosts'))
  sorted(part.rules.allow, compareAllowRules, issues.below('rules', 'allow'))
  part.rules.allow.forEach(({ match }, index) => {
    checkMatch(match, issues.below('rules', 'allow', index, 'match'))
  })
  checkRouteLimits(part.rules.routeLimits, issues.below('rules', 'routeLimits'))
}

function checkIngress(part: IngressPart, issues: IssueList): void {
  texts(part.sources, issues.below('sources'))
  texts(part.serverNames, issues.below('serverNames'))
  matches(part.matches, issues.below('matches'))
  checkRateLimits(part.rateLimits, issues.below('rateLimits'))
  checkRouteLimits(part.routeLimits, issues.below('routeLimits'))
}

function checkUpstream(part: UpstreamPart, issues: IssueList): void {
  checkTls(part.tls, issues.below('tls'))
  if (part.discovery.kind === 'static')
    sorted(part.discovery.addresses, bySocket, issues.below('discovery', 'addresses'))
}

function checkTls(tls: UpstreamTls, issues: IssueList): void {
  if (tls.mode === 'mesh') texts(tls.principals, issues.below('principals'))
  if (tls.mode === 'originate') texts(tls.subjectAltNames, issues.below('subjectAltNames'))
}

function checkRoutes(routes: readonly OutboundRoute[], issues: IssueList): void {
  routes.forEach((route, index) => {
    const place = (...path: (string | number)[]): IssueList => issues.below(index, ...path)
    checkMatch(route.match, place('match'))
    sorted(route.targets, targetOrder, place('targets'))
    checkHeaderChanges(route, issues.below(index))
    route.targets.forEach((target, position) => {
      checkHeaderChanges(target, place('targets', position))
    })
    sorted(route.mirrors, by('upstream'), place('mirrors'))
    texts(route.retries?.retryOn, place('retries', 'retryOn'))
  })
}

const targetOrder: Compare<RouteTarget> = compareBy(by('upstream'), compareCanonical)

function checkHeaderChanges(
  changes: Pick<OutboundRoute, 'requestHeaders' | 'responseHeaders'>,
  issues: IssueList,
): void {
  for (const message of ['requestHeaders', 'responseHeaders'] as const) {
    sorted(changes[message]?.set, by('name'), issues.below(message, 'set'))
    sorted(changes[message]?.add, by('name'), issues.below(message, 'add'))
    texts(changes[message]?.remove, issues.below(message, 'remove'))
  }
}

function checkRateLimits(limits: RateLimits | undefined, issues: IssueList): void {
  limits?.globalHttp?.descriptors.forEach((descriptor, index) => {
    checkDescriptor(descriptor, issues.below('globalHttp', 'descriptors', index))
  })
}

function checkRouteLimits(limits: readonly RouteLimits[], issues: IssueList): void {
  limits.forEach(({ match, rateLimits }, index) => {
    checkMatch(match, issues.below(index, 'match'))
    rateLimits.globalHttpDescriptors?.forEach((descriptor, inner) => {
      checkDescriptor(descriptor, issues.below(index, 'rateLimits', 'globalHttpDescriptors', inner))
    })
  })
}

function checkDescriptor(
  { entries }: NonNullable<RateLimits['globalHttp']>['descriptors'][number],
  issues: IssueList,
): void {
  entries.forEach((entry, index) => {
    if (entry.kind === 'headerMatch') sorted(entry.headers, headerOrder, issues.below('entries', index, 'headers'))
  })
}

const headerOrder: Compare<NonNullable<RouteMatch['headers']>[number]> = compareBy(by('name'), compareCanonical)

function checkMatch(match: OutboundMatch, issues: IssueList): void {
  texts(match.methods, issues.below('methods'))
  sorted(match.headers, headerOrder, issues.below('headers'))
  sorted(match.queryParameters, by('name'), issues.below('queryParameters'))
}

function matches(list: readonly RouteMatch[], issues: IssueList): void {
  sorted(list, compareCanonical, issues)
  list.forEach((match, index) => {
    checkMatch(match, issues.below(index))
  })
}

function targets(list: readonly WeightedUpstream[], issues: IssueList): void {
  sorted(list, by('upstream'), issues)
}

function texts(list: readonly string[] | undefined, issues: IssueList): void {
  sorted(list, compareText, issues)
}

function by<K extends string>(key: K): Compare<Readonly<Record<K, string>>> {
  return (a, b) => compareText(a[key], b[key])
}

function sorted<T>(list: readonly T[] | undefined, compare: Compare<T>, issues: IssueList): void {
  const index = list === undefined ? -1 : firstUnsorted(list, compare)
  if (index >= 0) issues.add(`/${index}`, 'the list must be sorted and hold nothing twice; this item comes too late')
}
