import type { IssueList } from '../issues.js'
import type { OutboundRoute, WeightedUpstream } from '../parts.js'
import type { ProxyPolicy } from '../policy.js'
import type { PolicyView } from './policy-view.js'

/** Checks references by id, and that all parts have one identity and one trust domain. */
export function checkNames({ proxy }: ProxyPolicy, view: PolicyView, issues: IssueList): void {
  const outbound = new Map(view.outbound.map(({ part }) => [part.id, part]))
  const egress = new Set(view.egress.map(({ part }) => part.id))
  const upstreams = new Map(view.upstreams.map(({ part }) => [part.id, part]))
  const knownUpstreams = (targets: readonly Pick<WeightedUpstream, 'upstream'>[], at: IssueList): void => {
    targets.forEach(({ upstream }, index) => {
      at.expect(upstreams.has(upstream), `/${index}/upstream`, `${upstream} is not among the upstreams`)
    })
  }
  const knownRoutes = (routes: readonly OutboundRoute[], at: IssueList): void => {
    routes.forEach(({ targets, mirrors = [] }, index) => {
      knownUpstreams(targets, at.below(index, 'targets'))
      knownUpstreams(mirrors, at.below(index, 'mirrors'))
    })
  }
  for (const { part, pointer } of view.outbound) {
    const at = issues.at(pointer).below('rules')
    if (part.rules.kind === 'http') knownRoutes(part.rules.routes, at.below('routes'))
    else {
      knownUpstreams(part.rules.targets, at.below('targets'))
      part.rules.serverNameRoutes?.forEach((route, index) => {
        knownUpstreams(route.targets, at.below('serverNameRoutes', index, 'targets'))
      })
    }
  }
  for (const { part, pointer } of view.egress) {
    knownRoutes(part.routes, issues.at(pointer).below('routes'))
    knownUpstreams(part.targets, issues.at(pointer).below('targets'))
  }
  proxy.outboundBindings.forEach(({ id }, index) => {
    const part = outbound.get(id)
    const fits = part?.rules.kind === 'tcp'
    issues.expect(fits, `/proxy/outboundBindings/${index}/id`, `${id} is not a TCP port among the outbound parts`)
  })
  checkEndpoints(view, issues)
  checkClientRules(view, new Set(outbound.keys()), egress, knownUpstreams, issues)
  checkTrustDomain(proxy.identity, proxy.principal, view, issues)
}

function checkEndpoints(view: PolicyView, issues: IssueList): void {
  const discovered = new Set(
    view.upstreams.filter(({ part }) => part.discovery.kind === 'endpoints').map(({ part }) => part.id),
  )
  const given = new Set(view.endpoints.map(({ part }) => part.id))
  const plaintext = new Set(
    view.upstreams
      .filter(({ part: { tls } }) => tls.mode === 'mesh' && tls.plaintext === true)
      .map(({ part }) => part.id),
  )
  for (const { part, pointer } of view.upstreams) {
    const found = !discovered.has(part.id) || given.has(part.id)
    issues.expect(found, `${pointer}/discovery`, `no endpoints part has the id ${part.id}`)
  }
  for (const { part, pointer } of view.endpoints) {
    issues.expect(
      discovered.has(part.id),
      `${pointer}/id`,
      `no upstream with discovery endpoints has the id ${part.id}`,
    )
    part.endpoints.forEach(({ cluster, tls }, index) => {
      const inTheClear = cluster === '' && tls?.mode === 'none'
      const text = `upstream ${part.id} has no plaintext endpoints`
      issues.expect(!inTheClear || plaintext.has(part.id), `${pointer}/endpoints/${index}/tls`, text)
    })
  }
}

function checkClientRules(
  view: PolicyView,
  outbound: ReadonlySet<string>,
  egress: ReadonlySet<string>,
  knownUpstreams: (targets: readonly WeightedUpstream[], at: IssueList) => void,
  issues: IssueList,
): void {
  if (view.clientRules === undefined) return
  const { part } = view.clientRules
  const at = issues.at(view.clientRules.pointer)
  for (const name of ['retries', 'preFilters'] as const) {
    part[name].forEach((rule, index) => {
      const text = `${rule.outbound} is not among the outbound parts`
      at.expect(outbound.has(rule.outbound), `/${name}/${index}/outbound`, text)
    })
  }
  part.egressCredentials.forEach((rule, index) => {
    const text = `${rule.egress} is not among the egress parts`
    at.expect(egress.has(rule.egress), `/egressCredentials/${index}/egress`, text)
  })
  part.gateways.forEach((rule, index) => {
    const found = rule.egress === '*' || egress.has(rule.egress)
    at.expect(found, `/gateways/${index}/egress`, `${rule.egress} is not among the egress parts`)
    knownUpstreams(rule.targets, at.below('gateways', index, 'targets'))
  })
}

function checkTrustDomain(identity: string, principal: string, view: PolicyView, issues: IssueList): void {
  if (view.trust === undefined) return
  const own = `${identity}.${view.trust.trustDomain}`
  issues.expect(principal === own, '/proxy/principal', `must be ${own}`)
}
