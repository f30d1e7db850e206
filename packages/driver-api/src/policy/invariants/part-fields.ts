import { isIP } from 'node:net'

import type { IssueList } from '../issues.js'
import { isHttp } from '../protocols.js'
import { checkRoutes, weights } from './route-fields.js'
import type {
  ConnectionShares,
  EgressPart,
  EndpointsPart,
  InboundPart,
  IngressPart,
  OutboundPart,
  Part,
  ProxyPart,
  RateLimits,
  SocketAddress,
  TrustPart,
  UpstreamPart,
} from '../parts.js'

/** Checks constraints between fields of one part, which a schema cannot express. */
export function checkPartFields(part: Part, issues: IssueList): void {
  switch (part.kind) {
    case 'proxy':
      checkProxy(part, issues)
      return
    case 'trust':
      checkTrust(part, issues)
      return
    case 'inbound':
      checkInbound(part, issues)
      return
    case 'ingress':
      checkIngress(part, issues)
      return
    case 'outbound':
      checkOutbound(part, issues)
      return
    case 'upstream':
      checkUpstream(part, issues)
      return
    case 'endpoints':
      checkEndpoints(part, issues)
      return
    case 'clientRules':
      part.gateways.forEach((gateway, index) => {
        weights(gateway.targets, issues.below('gateways', index, 'targets'))
      })
      return
    case 'egress':
      checkEgress(part, issues)
      return
    case 'dns':
      part.records.forEach((record, index) => {
        addresses(record.addresses, issues.below('records', index, 'addresses'))
      })
      addresses(part.upstreamServers, issues.below('upstreamServers'))
      return
    case 'mesh':
    case 'principals':
    case 'extension':
    case 'set':
      return
  }
}

/** True for an address that is reachable only from the same machine. */
function isLoopback(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))
}

function checkProxy(part: ProxyPart, issues: IssueList): void {
  const namespace = part.identity.slice(part.identity.lastIndexOf('.') + 1)
  const account = part.identity.slice(0, part.identity.lastIndexOf('.'))
  const trustDomain = part.principal.slice(part.identity.length + 1)
  issues.expect(part.namespace === namespace, '/namespace', 'must be the namespace of the identity')
  issues.expect(part.principal === `${part.identity}.${trustDomain}`, '/principal', 'must be <identity>.<trust domain>')
  const spiffeId = `spiffe://${trustDomain}/${account}/${namespace}`
  issues.expect(part.spiffeId === spiffeId, '/spiffeId', 'must name the same identity as the principal')
  addresses(part.addresses, issues.below('addresses'))
  for (const [name, socket] of Object.entries(part.listen) as [string, SocketAddress][]) {
    ip(socket.address, issues.below('listen', name, 'address'))
  }
  if (part.listen.admin !== undefined) {
    issues.expect(isLoopback(part.listen.admin.address), '/listen/admin/address', 'must be a loopback address')
  }
  checkMode(part, issues)
  for (const name of ['inbound', 'ingress'] as const) {
    part[name].forEach((binding, index) => {
      ip(binding.local.address, issues.below(name, index, 'local', 'address'))
      if (binding.listen !== undefined) ip(binding.listen.address, issues.below(name, index, 'listen', 'address'))
    })
  }
  part.outboundBindings.forEach(({ listen }, index) => {
    ip(listen.address, issues.below('outboundBindings', index, 'listen', 'address'))
  })
  part.probes.forEach((probe, index) => {
    ip(probe.listen.address, issues.below('probes', index, 'listen', 'address'))
  })
}

function checkMode(part: ProxyPart, issues: IssueList): void {
  const explicit = part.mode === 'explicit'
  for (const name of ['inbound', 'outbound'] as const) {
    const given = part.listen[name] !== undefined
    issues.expect(
      given !== explicit,
      `/listen/${name}`,
      `is ${explicit ? 'for transparent' : 'required in transparent'} mode`,
    )
  }
  issues.expect(explicit || part.listen.outboundHttp === undefined, '/listen/outboundHttp', 'is for explicit mode')
  issues.expect(explicit || part.outboundBindings.length === 0, '/outboundBindings', 'are for explicit mode')
  for (const name of ['inbound', 'ingress'] as const) {
    part[name].forEach(({ listen }, index) => {
      const text = explicit ? 'is required in explicit mode' : 'is for explicit mode'
      issues.expect((listen !== undefined) === explicit, `/${name}/${index}/listen`, text)
    })
  }
}

function checkTrust(part: TrustPart, issues: IssueList): void {
  const tooLow = part.minVersion === 'TLSv1_0' || part.minVersion === 'TLSv1_1'
  issues.expect(!tooLow, '/minVersion', 'must not be below TLSv1_2')
}

function checkInbound(part: InboundPart, issues: IssueList): void {
  const http = isHttp(part.protocol)
  const { kind } = part.rules
  issues.expect(kind === 'deny' || (kind === 'http') === http, '/rules/kind', `does not fit protocol ${part.protocol}`)
  rateLimits(part.rateLimits, http, issues.below('rateLimits'))
  const authorizes = part.externalAuthorization !== undefined
  issues.expect(http || !authorizes, '/externalAuthorization', 'is for HTTP ports')
  if (kind !== 'deny') return
  issues.expect(part.rateLimits === undefined, '/rateLimits', 'do not occur in a deny form')
  issues.expect(!authorizes, '/externalAuthorization', 'does not occur in a deny form')
}

function checkIngress(part: IngressPart, issues: IssueList): void {
  part.sources.forEach((source, index) => {
    cidr(source, issues.below('sources', index))
  })
  const mutual = part.tls === 'mtls'
  issues.expect((part.allow !== undefined) === mutual, '/allow', mutual ? 'is required with mtls' : 'is for mtls')
  const plain = part.tls === 'none'
  issues.expect(!plain || part.serverNames.length === 0, '/serverNames', 'cannot select without TLS')
  const http = isHttp(part.protocol)
  rateLimits(part.rateLimits, http, issues.below('rateLimits'))
  if (http) return
  issues.expect(plain, '/tls', `must be none with protocol ${part.protocol}`)
  const passesAll = part.matches.length === 1 && part.matches.every((match) => Object.keys(match).length === 0)
  issues.expect(passesAll, '/matches', `must hold one match of everything with protocol ${part.protocol}`)
  issues.expect(part.routeLimits.length === 0, '/routeLimits', 'are for HTTP ports')
  issues.expect(part.externalAuthorization === undefined, '/externalAuthorization', 'is for HTTP ports')
}

function checkOutbound(part: OutboundPart, issues: IssueList): void {
  addresses(part.addresses, issues.below('addresses'))
  issues.expect(!part.hosts.includes(part.shortHost), '/hosts', 'must not hold the short host name')
  const fits = (part.rules.kind === 'http') === isHttp(part.protocol)
  issues.expect(fits, '/rules/kind', `does not fit protocol ${part.protocol}`)
  if (part.rules.kind === 'tcp') {
    const { serverNameRoutes = [] } = part.rules
    connectionWeights(part.rules, issues.below('rules'))
    serverNameRoutes.forEach((route, index) => {
      connectionWeights(route, issues.below('rules', 'serverNameRoutes', index))
    })
    const names = serverNameRoutes.flatMap(({ serverNames }) => serverNames)
    issues.expect(new Set(names).size === names.length, '/rules/serverNameRoutes', 'must not name a server name twice')
    const isSilent = serverNameRoutes.length > 0 && part.protocol === 'tcp-server-first'
    issues.expect(!isSilent, '/rules/serverNameRoutes', 'does not fit protocol tcp-server-first')
  } else {
    checkRoutes(part.rules.routes, issues.below('rules', 'routes'))
  }
}

function connectionWeights({ targets, errorWeight = 0 }: ConnectionShares, issues: IssueList): void {
  weights([...targets, { weight: errorWeight }], issues.below('targets'))
}

function checkUpstream(part: UpstreamPart, issues: IssueList): void {
  const inMesh = part.service !== undefined
  issues.expect(
    inMesh === (part.tls.mode === 'mesh'),
    '/tls/mode',
    'must be mesh for services of the mesh, and only there',
  )
  if (part.discovery.kind === 'static') {
    part.discovery.addresses.forEach(({ address }, index) => {
      ip(address, issues.below('discovery', 'addresses', index, 'address'))
    })
  }
  const check = part.healthCheck
  if (check === undefined) return
  const http = check.type === 'http'
  issues.expect(
    (check.path !== undefined) === http,
    '/healthCheck/path',
    http ? 'is required with http' : 'is for http',
  )
  issues.expect(!http || isHttp(part.protocol), '/healthCheck/type', `does not fit protocol ${part.protocol}`)
}

function checkEndpoints(part: EndpointsPart, issues: IssueList): void {
  part.endpoints.forEach((endpoint, index) => {
    ip(endpoint.address, issues.below('endpoints', index, 'address'))
    issues.expect(
      endpoint.tls === undefined || endpoint.tls.mode === 'none' || endpoint.cluster !== '',
      `/endpoints/${index}/tls`,
      'must be none in the own cluster',
    )
  })
  weights(part.endpoints, issues.below('endpoints'))
}

function checkEgress(part: EgressPart, issues: IssueList): void {
  const http = part.protocol === 'http'
  const https = part.protocol === 'https'
  const tcp = !http && !https
  const wanted = (name: 'hosts' | 'serverNames' | 'routes' | 'targets', isWanted: boolean): void => {
    const text = isWanted ? 'must not be empty' : 'must be empty'
    issues.expect(part[name].length > 0 === isWanted, `/${name}`, `${text} with protocol ${part.protocol}`)
  }
  wanted('hosts', http)
  wanted('serverNames', https)
  wanted('routes', http)
  wanted('targets', !http)
  issues.expect(tcp || part.cidrs.length === 0, '/cidrs', `must be empty with protocol ${part.protocol}`)
  issues.expect(
    !part.hosts.includes('*') || part.hosts.length === 1,
    '/hosts',
    'must have no other entries beside *, which matches any',
  )
  part.cidrs.forEach((range, index) => {
    cidr(range, issues.below('cidrs', index))
  })
  checkRoutes(part.routes, issues.below('routes'))
  weights(part.targets, issues.below('targets'))
}

function rateLimits(limits: RateLimits | undefined, http: boolean, issues: IssueList): void {
  if (limits === undefined || http) return
  issues.expect(limits.http === undefined, '/http', 'is for HTTP ports')
  issues.expect(limits.globalHttp === undefined, '/globalHttp', 'is for HTTP ports')
}

function addresses(list: readonly string[], issues: IssueList): void {
  list.forEach((address, index) => {
    ip(address, issues.below(index))
  })
}

function ip(address: string, issues: IssueList): void {
  issues.expect(isIP(address) !== 0, '', 'must be an IP address without brackets')
}

function cidr(range: string, issues: IssueList): void {
  const [address = '', length = '', ...rest] = range.split('/')
  const bits = isIP(address) === 4 ? 32 : 128
  const fits =
    isIP(address) !== 0 && rest.length === 0 && /^(0|[1-9][0-9]{0,2})$/.test(length) && Number(length) <= bits
  issues.expect(fits, '', 'must be a CIDR such as 10.0.0.0/8')
}
