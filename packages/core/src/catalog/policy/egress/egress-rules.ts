import type { ServiceAccountRef } from '@osm-ts/driver-api'
import { canonicalJson, type CredentialRef, type RouteMatch } from '@osm-ts/driver-api/policy'

import { SOURCE_UNCHANGED, type CrossReference, type KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { objectInputs, secretState } from '../../inputs/inputs.js'
import { objectCombinations, reportTooMany } from '../problems/combinations.js'
import { mayConcern, reportRefused } from '../access/consent.js'
import { ANYWHERE, countDestinations, egressDestinations, type EgressDestination } from './egress-destinations.js'
import { nameKey, sortedUnique, type NamespacedName } from '../parts/keys.js'
import type { SourceRef } from '../parts/policy-part.js'
import { objectRefOf, ProblemList, type PolicyProblem } from '../problems/problems.js'
import { routeGroup } from '../routing/route-groups.js'

/** Somebody whom an Egress lets out. */
export interface EgressSource {
  readonly account: ServiceAccountRef
  /** Present: the sidecar speaks TLS to the destination, and shows a certificate. `unavailable`: it was to, and has none to show. */
  readonly originate: EgressOrigination | 'unavailable' | undefined
}

/** How a sidecar speaks TLS to a destination. */
export interface EgressOrigination {
  /** Its client certificate. */
  readonly credential: CredentialRef
  /** What the server's certificate is verified by. */
  readonly roots: CredentialRef
  /** One of them must be in the server's certificate; empty stands for the host. Sorted. */
  readonly subjectAltNames: readonly string[]
}

/** Requests that an Egress lets out. */
export interface EgressRoute {
  readonly match: RouteMatch
  readonly origins: readonly SourceRef[]
}

/** An Egress with all its references followed. */
export interface EgressRules {
  readonly egress: NamespacedName
  readonly sources: readonly EgressSource[]
  readonly destinations: readonly EgressDestination[]
  /** For `http`, in order. Empty: no request is let out. */
  readonly routes: readonly EgressRoute[]
  /** UpstreamTrafficSetting of the destinations. */
  readonly settings: NamespacedName | undefined
  readonly problems: readonly PolicyProblem[]
}

type Context = QueryContext<CatalogState>
type Egress = KindMap['Egress']

const ROUTE_GROUPS = 'specs.smi-spec.io/v1alpha4'
const POLICIES = 'policy.openservicemesh.io/v1alpha1'

/** What an Egress says; undefined if there is none of that name. */
export const egressRules = defineQuery<CatalogState, NamespacedName, EgressRules | undefined>({
  name: 'egress-rules',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, key) => {
    const egress = context.get(objectInputs.Egress, key)
    if (egress === undefined) return undefined
    const problems = new ProblemList(objectRefOf('Egress', key))
    const routes = routesIn(context, egress, problems)
    const destinations = isTooLarge(egress, routes, problems) ? [] : egressDestinations(context, egress, problems)
    return {
      egress: key,
      sources: sourcesIn(context, egress, destinations, problems),
      destinations,
      routes,
      settings: settingsOf(context, egress, problems),
      problems: problems.items,
    }
  },
})

/** True for an Egress that exceeds its limit and opens nothing. */
function isTooLarge({ spec }: Egress, routes: readonly EgressRoute[], problems: ProblemList): boolean {
  const limit = objectCombinations.egress
  const opened = countDestinations(spec) * Math.max(1, routes.length)
  if (opened <= limit) return false
  reportTooMany(problems, 'spec', `opens ${opened} combinations of host or range, port and match`, limit)
  return true
}

/** False where the sidecar was to speak TLS and can't: nothing then leaves in plaintext or without the certificate. */
export function opensTo({ originate }: EgressSource, destination: EgressDestination): boolean {
  return originate === undefined || takesOrigination(destination)
}

function takesOrigination({ protocol, target }: EgressDestination): boolean {
  return protocol === 'http' && !target.startsWith(ANYWHERE)
}

function sourcesIn(
  context: Context,
  { spec, metadata }: Egress,
  destinations: readonly EgressDestination[],
  problems: ProblemList,
): readonly EgressSource[] {
  const closed = closedToOriginators(destinations)
  const seen = new Set<string>()
  return spec.sources.flatMap(({ namespace, name, mtls }, index): readonly EgressSource[] => {
    const field = `spec.sources[${index}].mtls`
    const account = { namespace, name }
    const reference: CrossReference = {
      from: { kind: 'Egress', namespace: metadata.namespace },
      to: { kind: 'ServiceAccount', ...account },
    }
    if (!mayConcern(context, reference)) {
      reportRefused(problems, `spec.sources[${index}].namespace`, reference, SOURCE_UNCHANGED)
      return []
    }
    // A source that is written down twice counts once.
    const text = canonicalJson({ ...account, ...(mtls === undefined ? {} : { mtls }) })
    if (seen.has(text)) return []
    seen.add(text)
    if (mtls === undefined) return [{ account, originate: undefined }]
    const unavailable = mtls.issuer === 'osm' ? undefined : whyUnavailable(context, metadata.namespace, mtls)
    if (unavailable !== undefined) {
      const message = `${unavailable.message}; requests of this source are answered 503`
      problems.error('OSM_POLICY_EGRESS_MTLS', `${field}.${unavailable.field}`, message)
    }
    const source: EgressSource = { account, originate: unavailable === undefined ? originationOf(mtls) : 'unavailable' }
    if (closed !== undefined) {
      const message = `is for http to hosts that are named in full; not opened to this source: ${closed}`
      problems.error('OSM_POLICY_EGRESS_MTLS', field, message)
    }
    return [source]
  })
}

/** Maximum number of destinations that a message names. */
const NAMED_DESTINATIONS = 20

/** Describes the destinations that are closed to sources with TLS origination; undefined if there are none. */
function closedToOriginators(destinations: readonly EgressDestination[]): string | undefined {
  const closed = destinations.filter((destination) => !takesOrigination(destination))
  if (closed.length === 0) return undefined
  const named = sortedUnique(closed.map(({ protocol, target, port }) => `${protocol} ${target} port ${port}`))
  const rest = named.length - NAMED_DESTINATIONS
  return `${named.slice(0, NAMED_DESTINATIONS).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

type Mtls = NonNullable<Egress['spec']['sources'][number]['mtls']>

/** What keeps a sidecar from showing the certificate of another issuer. */
function whyUnavailable(
  context: Context,
  namespace: string,
  { cert }: Mtls,
): { readonly field: string; readonly message: string } | undefined {
  if (cert === undefined) return { field: 'cert', message: 'is missing: its secret holds the certificate to show' }
  const { secret } = cert
  if (secret.namespace !== namespace) {
    // Anyone who may write an Egress must not get at Secrets of other namespaces by it.
    const message = `must be ${namespace}, the namespace of the Egress, not ${JSON.stringify(secret.namespace)}`
    return { field: 'cert.secret.namespace', message }
  }
  const state = context.get(secretState, secret)
  return state.usable ? undefined : { field: 'cert.secret', message: `Secret ${nameKey(secret)} ${state.fault}` }
}

/** A server that takes certificates of the mesh is taken to hold one as well, such as that of an AccessCert. */
function originationOf(mtls: Mtls): EgressOrigination {
  const subjectAltNames = sortedUnique(mtls.cert?.subjectAltNames ?? [])
  const { namespace = '', name = '' } = mtls.cert?.secret ?? {}
  const credential: CredentialRef = mtls.issuer === 'osm' ? { kind: 'service' } : { kind: 'secret', namespace, name }
  return { credential, roots: credential, subjectAltNames }
}

/** The first UpstreamTrafficSetting that the Egress names. */
function settingsOf(context: Context, { spec, metadata }: Egress, problems: ProblemList): NamespacedName | undefined {
  const named = (spec.matches ?? []).flatMap(({ apiGroup, kind, name }, index) =>
    apiGroup === POLICIES && kind === 'UpstreamTrafficSetting' ? [{ name, field: `spec.matches[${index}]` }] : [],
  )
  const [first, ...surplus] = named
  for (const { field } of surplus)
    problems.error('OSM_SPEC_REFERENCE', field, 'is a second UpstreamTrafficSetting; the first one applies')
  if (first === undefined) return undefined
  const key = { namespace: metadata.namespace, name: first.name }
  if (context.get(objectInputs.UpstreamTrafficSetting, key) !== undefined) return key
  const message = `there is no UpstreamTrafficSetting ${nameKey(key)}`
  problems.error('OSM_SPEC_REFERENCE', `${first.field}.name`, message)
  return undefined
}

/** Without route groups every request may leave. A reference that leads nowhere must not widen the rest to every request. */
function routesIn(context: Context, { spec, metadata }: Egress, problems: ProblemList): readonly EgressRoute[] {
  const references = (spec.matches ?? []).map((reference, index) => ({ ...reference, field: `spec.matches[${index}]` }))
  const limits = references.filter(({ apiGroup, kind }) => apiGroup !== POLICIES || kind !== 'UpstreamTrafficSetting')
  if (limits.length === 0) return [{ match: {}, origins: [] }]
  const followed = new Set<string>()
  return limits.flatMap(({ apiGroup, kind, name, field }): readonly EgressRoute[] => {
    if (apiGroup !== ROUTE_GROUPS && apiGroup !== POLICIES) {
      const message = `must be ${ROUTE_GROUPS} or ${POLICIES}, not ${JSON.stringify(apiGroup)}`
      problems.error('OSM_SPEC_REFERENCE', `${field}.apiGroup`, message)
      return []
    }
    const expected = apiGroup === ROUTE_GROUPS ? 'HTTPRouteGroup' : 'UpstreamTrafficSetting'
    if (kind !== expected) {
      const message = `must be ${expected} for ${apiGroup}, not ${JSON.stringify(kind)}`
      problems.error('OSM_SPEC_REFERENCE', `${field}.kind`, message)
      return []
    }
    // A group that is named twice counts once.
    if (followed.has(name)) return []
    followed.add(name)
    const key = { namespace: metadata.namespace, name }
    const group = context.get(routeGroup, key)
    if (group === undefined)
      problems.error('OSM_SPEC_REFERENCE', `${field}.name`, `there is no HTTPRouteGroup ${nameKey(key)}`)
    return (group?.matches ?? []).map((match) => ({
      match: match.match,
      origins: [
        { object: objectRefOf('Egress', metadata), field },
        { object: objectRefOf('HTTPRouteGroup', key), field: match.field },
      ],
    }))
  })
}
