import type { MeshService } from '@osm-ts/driver-api'
import type {
  HeaderMatch,
  HttpAllowRule,
  InboundPart,
  OutboundPart,
  Part,
  PrincipalsPart,
  ProxyPolicy,
  OutboundMatch,
  RoutedPathMatch,
  SetPart,
  StringMatch,
  UpstreamPart,
} from '@osm-ts/driver-api/policy'
import { RE2JS } from 're2js'

/** A request as a workload makes it. */
export interface Attempt {
  readonly service: MeshService
  readonly port: number
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

/** Where a request ended up, and whether it was let in there. */
export interface Outcome {
  readonly upstream: string
  /** Proxy that served it, as `<namespace>/<instance>`. */
  readonly proxy: string
  readonly allowed: boolean
}

/** What the proxies of a mesh would do, read off their policy documents alone. Not a proxy: just what the contract says that a policy means. */
export class DataPlane {
  readonly #documents: ReadonlyMap<string, ProxyPolicy>

  constructor(documents: ReadonlyMap<string, ProxyPolicy>) {
    this.#documents = documents
  }

  /** Every way that a request of a workload may go; undefined if its own proxy knows no such service port. */
  outcomes(client: string, attempt: Attempt): readonly Outcome[] | undefined {
    const document = this.#documents.get(client)
    const outbound = document && findOutbound(document, attempt)
    if (document === undefined || outbound === undefined) return undefined
    return targetsOf(outbound, attempt).flatMap((id) => {
      const upstream = memberOf<UpstreamPart>(document, document.proxy.upstreams, id)
      const endpoints = memberOf<Extract<Part, { kind: 'endpoints' }>>(document, document.proxy.endpoints, id)
      if (upstream?.tls.mode !== 'mesh') throw new Error(`${client}: upstream ${id} is missing or not of the mesh`)
      const { serverName, principals } = upstream.tls
      return (endpoints?.endpoints ?? []).flatMap(({ address, port, tls }) => {
        if (tls?.mode === 'none') {
          if (upstream.tls.mode !== 'mesh' || upstream.tls.plaintext !== true)
            throw new Error(`${client}: upstream ${id} allows no plaintext to ${address}`)
          return [{ upstream: id, proxy: `${address}:${port}`, allowed: true }]
        }
        const served = this.#serverAt(address, port, serverName)
        if (served === undefined) return [{ upstream: id, proxy: `${address}:${port}`, allowed: false }]
        if (!principals.includes(served.document.proxy.principal))
          throw new Error(`${served.name} is not who ${id} expects`)
        return [
          {
            upstream: id,
            proxy: served.name,
            allowed: lets(served.document, served.part, document.proxy.principal, attempt),
          },
        ]
      })
    })
  }

  /** The proxy whose listener answers, and the part that the server name selects there. */
  #serverAt(
    address: string,
    port: number,
    serverName: string,
  ): { readonly name: string; readonly document: ProxyPolicy; readonly part: InboundPart } | undefined {
    for (const [name, document] of this.#documents) {
      for (const binding of document.proxy.inbound) {
        const part = document.parts[binding.part] as InboundPart
        const listens =
          binding.listen === undefined
            ? document.proxy.addresses.includes(address) && part.targetPort === port
            : binding.listen.address === address && binding.listen.port === port
        if (listens && part.serverNames.includes(serverName)) return { name, document, part }
      }
    }
    return undefined
  }
}

function findOutbound(document: ProxyPolicy, { service, port }: Attempt): OutboundPart | undefined {
  return memberOf<OutboundPart>(document, document.proxy.outbound, `${service.namespace}/${service.name}|${port}`)
}

/** The member of a set, or of the sets in it, with that id. */
function memberOf<P extends Part>(document: ProxyPolicy, set: string | undefined, id: string): P | undefined {
  if (set === undefined) return undefined
  const { members, sets } = document.parts[set] as SetPart
  const member = members.find((candidate) => candidate.id === id)
  if (member !== undefined) return document.parts[member.hash] as P
  for (const inner of sets) {
    const found = memberOf<P>(document, inner.hash, id)
    if (found !== undefined) return found
  }
  return undefined
}

function targetsOf({ rules }: OutboundPart, attempt: Attempt): readonly string[] {
  const targets =
    rules.kind === 'tcp' ? rules.targets : (rules.routes.find(({ match }) => matches(match, attempt))?.targets ?? [])
  return targets.filter(({ weight }) => weight > 0).map(({ upstream }) => upstream)
}

function lets(document: ProxyPolicy, { rules }: InboundPart, principal: string, attempt: Attempt): boolean {
  switch (rules.kind) {
    case 'deny':
      return false
    case 'tcp':
      return isAllowed(document, rules.allow, principal)
    case 'http':
      return rules.allow.some(
        ({ match, allow }: HttpAllowRule) => matches(match, attempt) && isAllowed(document, allow, principal),
      )
  }
}

function isAllowed(document: ProxyPolicy, hash: string, principal: string): boolean {
  const part = document.parts[hash] as PrincipalsPart
  return part.match === 'trustDomain'
    ? principal.endsWith(`.${part.trustDomain}`)
    : (part.principals as readonly string[]).includes(principal)
}

function matches({ path, methods, headers = [] }: OutboundMatch, attempt: Attempt): boolean {
  if (path !== undefined && !matchesText(path, attempt.path)) return false
  if (methods !== undefined && !methods.includes(attempt.method)) return false
  return headers.every((header) => matchesHeader(header, attempt.headers[header.name]))
}

function matchesHeader({ match, invert = false }: HeaderMatch, value: string | undefined): boolean {
  if (value === undefined) return invert && match.type === 'present'
  return matchesText(match, value) !== invert
}

function matchesText(match: StringMatch | RoutedPathMatch, text: string): boolean {
  switch (match.type) {
    case 'exact':
      return text === match.value
    case 'prefix':
      return text.startsWith(match.value)
    case 'segments':
      return `${text}/`.startsWith(`${match.value}/`)
    case 'regex':
      return RE2JS.compile(match.value).matches(text)
    case 'present':
      return true
  }
}
