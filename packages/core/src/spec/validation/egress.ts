import type { Steps } from '../../async/index.js'
import { formatObjectRef } from '../../problem.js'
import { isCidr } from '../addresses.js'
import { opensHttpsByAddress, parseEgressHost } from '../egress-host.js'
import { objectRef, type KindMap, type MeshObject } from '../objects.js'
import { EGRESS_UNCHANGED, globalGatewaysOfNamespace, isMeshWide, SOURCE_UNCHANGED } from '../reference-grant.js'
import {
  doubt,
  fault,
  findings,
  inEach,
  missing,
  pendingFault,
  refused,
  unknownAccount,
  type CheckContext,
  type Finding,
} from './check.js'
import { type ClaimLookup, serverFirstClaim } from './claims.js'

type Egress = KindMap['Egress']
type Sources = Egress['spec']['sources']

const protocols = ['http', 'https', 'tcp', 'tcp-server-first']
const routeGroups = 'specs.smi-spec.io/v1alpha4'
const policies = 'policy.openservicemesh.io/v1alpha1'

/** Egress policies that open nothing, or more than one can tell. */
export function* checkEgress({ metadata, spec }: Egress, context: CheckContext): Steps<readonly Finding[]> {
  const from = { kind: 'Egress', namespace: metadata.namespace } as const
  const allowed = spec.sources.filter(({ namespace, name }) =>
    context.permits({ from, to: { kind: 'ServiceAccount', namespace, name } }),
  )
  const byHost = opensHttpsByAddress(spec) ? ['http'] : ['http', 'https']
  const lacksHosts =
    (spec.hosts ?? []).length === 0 && spec.ports.some(({ protocol }) => byHost.includes(protocol.toLowerCase()))
  return findings(
    spec.sources.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.sources', 'is empty: no egress is allowed'),
    spec.ports.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.ports', 'is empty: nothing is opened'),
    yield* inEach(spec.sources, ({ name, namespace }, index) =>
      findings(
        unknownAccount(context, namespace, name, `spec.sources[${index}].name`),
        refused(
          { from, to: { kind: 'ServiceAccount', namespace, name } },
          { field: `spec.sources[${index}].namespace`, effect: SOURCE_UNCHANGED },
          context,
        ),
      ),
    ),
    lacksHosts &&
      fault(
        'OSM_SPEC_NO_EFFECT',
        'spec.hosts',
        'is missing: http needs the names of hosts, and https needs them, or ranges in spec.ipAddresses',
      ),
    yield* inEach(spec.hosts ?? [], (host, index) =>
      findings(
        parseEgressHost(host) === undefined &&
          fault(
            'OSM_SPEC_HOST',
            `spec.hosts[${index}]`,
            `${JSON.stringify(host)} is not a host name; remove scheme, port and path`,
          ),
      ),
    ),
    yield* inEach(spec.ipAddresses ?? [], (range, index) =>
      findings(
        !isCidr(range) &&
          fault(
            'OSM_SPEC_ADDRESS',
            `spec.ipAddresses[${index}]`,
            `${JSON.stringify(range)} is not an address range such as 10.0.0.0/8`,
          ),
      ),
    ),
    yield* inEach(spec.ports, (port, index) => checkPort(port, `spec.ports[${index}]`, allowed, context)),
    checkMatches(metadata.namespace, spec.matches ?? [], context),
  )
}

function checkPort(
  { number, protocol }: Egress['spec']['ports'][number],
  field: string,
  sources: Sources,
  { claims }: CheckContext,
): readonly Finding[] {
  // Egress objects of different accounts never meet in one sidecar, and Services of other namespaces close nothing.
  const serverFirst = protocol.toLowerCase() === 'https' ? serverFirstOwner(number, sources, claims) : undefined
  return findings(
    !protocols.includes(protocol.toLowerCase()) &&
      fault(
        'OSM_SPEC_PROTOCOL',
        `${field}.protocol`,
        `must be one of ${protocols.join(', ')}, not ${JSON.stringify(protocol)}`,
      ),
    serverFirst !== undefined &&
      pendingFault(
        'OSM_SPEC_PROTOCOL',
        `${field}.protocol`,
        `https on port ${number} waits for the client, but ${formatObjectRef(objectRef(serverFirst))} lets the server speak first there; ` +
          'use another port for one of them',
      ),
  )
}

/** The first object that lets servers speak first on the port, for one of the sources. */
function serverFirstOwner(port: number, sources: Sources, claims: ClaimLookup): MeshObject | undefined {
  for (const { namespace, name } of sources)
    for (const account of [
      { namespace, name: '' },
      { namespace, name },
    ]) {
      const owner = claims.owner('server-first', serverFirstClaim(account, port))
      if (owner !== undefined) return owner
    }
  return undefined
}

function checkMatches(
  namespace: string,
  matches: NonNullable<Egress['spec']['matches']>,
  context: CheckContext,
): readonly Finding[] {
  const { snapshot } = context
  let settings = 0
  return matches.flatMap(({ apiGroup, kind, name }, index) => {
    const field = `spec.matches[${index}]`
    const expected =
      apiGroup === routeGroups ? 'HTTPRouteGroup' : apiGroup === policies ? 'UpstreamTrafficSetting' : undefined
    if (expected === undefined)
      return [
        fault(
          'OSM_SPEC_REFERENCE',
          `${field}.apiGroup`,
          `must be ${routeGroups} or ${policies}, not ${JSON.stringify(apiGroup)}`,
        ),
      ]
    if (kind !== expected)
      return [
        fault(
          'OSM_SPEC_REFERENCE',
          `${field}.kind`,
          `must be ${expected} for ${apiGroup}, not ${JSON.stringify(kind)}`,
        ),
      ]
    if (expected === 'UpstreamTrafficSetting') settings += 1
    return findings(
      settings > 1 &&
        expected === 'UpstreamTrafficSetting' &&
        fault('OSM_SPEC_REFERENCE', field, 'is a second UpstreamTrafficSetting; the first one applies'),
      snapshot.get(expected, namespace, name) === undefined &&
        pendingFault('OSM_SPEC_REFERENCE', `${field}.name`, missing(context, expected, namespace, name)),
    )
  })
}

/** EgressGateways that name what does not exist, or no gateway at all, and all but the first with global gateways or with those of an Egress. */
export function checkEgressGateway(gateway: KindMap['EgressGateway'], context: CheckContext): readonly Finding[] {
  const { snapshot, claims, consent } = context
  const { global = [], rules = [] } = gateway.spec
  const from = { kind: 'EgressGateway', namespace: gateway.metadata.namespace } as const
  const owner = global.length > 0 ? claims.rival('gateway', `${from.namespace}/`, gateway) : undefined
  const service = (entry: (typeof global)[number], field: string): readonly Finding[] =>
    findings(
      snapshot.get('Service', entry.namespace, entry.service) === undefined &&
        pendingFault(
          'OSM_SPEC_REFERENCE',
          `${field}.service`,
          missing(context, 'Service', entry.namespace, entry.service),
        ),
    )
  return findings(
    owner !== undefined &&
      fault(
        'OSM_SPEC_CONFLICT',
        'spec.global',
        `${formatObjectRef(objectRef(owner))} already defines the global gateways; only one object of a namespace can define them`,
      ),
    global.length > 0 &&
      !isMeshWide(from, consent) &&
      doubt(
        'OSM_SPEC_REF_NOT_PERMITTED',
        'spec.global',
        globalGatewaysOfNamespace(from.namespace, consent.osmNamespace),
      ),
    global.length > 0 && weightless(global, 'spec.global'),
    global.flatMap((entry, index) => service(entry, `spec.global[${index}]`)),
    rules.flatMap(({ egressPolicies, egressGateways }, rule) => [
      ...egressPolicies.flatMap(({ namespace, name }, index) => {
        const field = `spec.rules[${rule}].egressPolicies[${index}]`
        const refusal = refused(
          { from, to: { kind: 'Egress', namespace, name } },
          { field: `${field}.namespace`, effect: EGRESS_UNCHANGED },
          context,
        )
        const first = refusal === undefined ? claims.rival('gateway', `${namespace}/${name}`, gateway) : undefined
        return findings(
          refusal,
          first !== undefined &&
            fault(
              'OSM_SPEC_CONFLICT',
              field,
              `Egress ${namespace}/${name} already has gateways, by ${formatObjectRef(objectRef(first))}; the first rule applies`,
            ),
          snapshot.get('Egress', namespace, name) === undefined &&
            pendingFault('OSM_SPEC_REFERENCE', `${field}.name`, missing(context, 'Egress', namespace, name)),
        )
      }),
      ...findings(weightless(egressGateways, `spec.rules[${rule}].egressGateways`)),
      ...egressGateways.flatMap((entry, index) => service(entry, `spec.rules[${rule}].egressGateways[${index}]`)),
    ]),
  )
}

function weightless(entries: readonly { readonly weight?: number | undefined }[], field: string): Finding | false {
  return (
    !entries.some(({ weight = 1 }) => weight > 0) &&
    doubt('OSM_SPEC_NO_EFFECT', field, 'names no gateway with a weight above 0: no traffic leaves the mesh')
  )
}
