import { formatObjectRef } from '../../problem.js'
import { isCidr } from '../addresses.js'
import { parseEgressHost } from '../egress-host.js'
import { isOfKind, objectRef, type KindMap, type MeshObject } from '../objects.js'
import {
  doubt,
  fault,
  findings,
  missing,
  pendingFault,
  unknownAccount,
  type CheckContext,
  type Finding,
} from './check.js'

type Egress = KindMap['Egress']
type Sources = Egress['spec']['sources']

const protocols = ['http', 'https', 'tcp', 'tcp-server-first']
const routeGroups = 'specs.smi-spec.io/v1alpha4'
const policies = 'policy.openservicemesh.io/v1alpha1'

/** Egress policies that open nothing, or more than one can tell. */
export function checkEgress({ metadata, spec }: Egress, context: CheckContext): readonly Finding[] {
  const { snapshot } = context
  const needsHosts = spec.ports.some(({ protocol }) => /^https?$/i.test(protocol))
  return findings(
    spec.sources.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.sources', 'is empty: nobody is let out'),
    spec.ports.length === 0 && doubt('OSM_SPEC_NO_EFFECT', 'spec.ports', 'is empty: nothing is opened'),
    spec.sources.flatMap(({ name, namespace }, index) =>
      findings(unknownAccount(snapshot, namespace, name, `spec.sources[${index}].name`)),
    ),
    needsHosts &&
      (spec.hosts ?? []).length === 0 &&
      fault('OSM_SPEC_NO_EFFECT', 'spec.hosts', 'is missing: for http and https the hosts must be named'),
    (spec.hosts ?? []).flatMap((host, index) =>
      findings(
        parseEgressHost(host) === undefined &&
          fault(
            'OSM_SPEC_HOST',
            `spec.hosts[${index}]`,
            `${JSON.stringify(host)} is no host name; leave out scheme, port and path`,
          ),
      ),
    ),
    (spec.ipAddresses ?? []).flatMap((range, index) =>
      findings(
        !isCidr(range) &&
          fault(
            'OSM_SPEC_ADDRESS',
            `spec.ipAddresses[${index}]`,
            `${JSON.stringify(range)} is no range such as 10.0.0.0/8`,
          ),
      ),
    ),
    spec.ports.flatMap((port, index) => checkPort(port, `spec.ports[${index}]`, spec.sources, context)),
    checkMatches(metadata.namespace, spec.matches ?? [], context),
  )
}

function checkPort(
  { number, protocol }: Egress['spec']['ports'][number],
  field: string,
  sources: Sources,
  { claims }: CheckContext,
): readonly Finding[] {
  const owner = protocol.toLowerCase() === 'https' ? claims.owner('server-first', String(number)) : undefined
  // Egress objects of different accounts never meet in one sidecar.
  const serverFirst = owner !== undefined && concerns(owner, sources) ? owner : undefined
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

function concerns(owner: MeshObject, sources: Sources): boolean {
  if (!isOfKind(owner, 'Egress')) return true
  return owner.spec.sources.some((source) =>
    sources.some(({ namespace, name }) => namespace === source.namespace && name === source.name),
  )
}

function checkMatches(
  namespace: string,
  matches: NonNullable<Egress['spec']['matches']>,
  { snapshot }: CheckContext,
): readonly Finding[] {
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
        fault('OSM_SPEC_REFERENCE', field, 'is a second UpstreamTrafficSetting; the first one holds'),
      snapshot.get(expected, namespace, name) === undefined &&
        pendingFault('OSM_SPEC_REFERENCE', `${field}.name`, missing(snapshot, expected, namespace, name)),
    )
  })
}

/** EgressGateways that name what does not exist, or no gateway at all, and all but the first with global gateways or with those of an Egress. */
export function checkEgressGateway(
  gateway: KindMap['EgressGateway'],
  { snapshot, claims }: CheckContext,
): readonly Finding[] {
  const { global = [], rules = [] } = gateway.spec
  const owner = global.length > 0 ? claims.rival('gateway', '', gateway) : undefined
  const service = (entry: (typeof global)[number], field: string): readonly Finding[] =>
    findings(
      snapshot.get('Service', entry.namespace, entry.service) === undefined &&
        pendingFault(
          'OSM_SPEC_REFERENCE',
          `${field}.service`,
          missing(snapshot, 'Service', entry.namespace, entry.service),
        ),
    )
  return findings(
    owner !== undefined &&
      fault(
        'OSM_SPEC_CONFLICT',
        'spec.global',
        `${formatObjectRef(objectRef(owner))} has the global gateways already; a mesh has one such object`,
      ),
    global.length > 0 && weightless(global, 'spec.global'),
    global.flatMap((entry, index) => service(entry, `spec.global[${index}]`)),
    rules.flatMap(({ egressPolicies, egressGateways }, rule) => [
      ...egressPolicies.flatMap(({ namespace, name }, index) => {
        const field = `spec.rules[${rule}].egressPolicies[${index}]`
        const first = claims.rival('gateway', `${namespace}/${name}`, gateway)
        return findings(
          first !== undefined &&
            fault(
              'OSM_SPEC_CONFLICT',
              field,
              `Egress ${namespace}/${name} has gateways already, by ${formatObjectRef(objectRef(first))}; the first rule holds`,
            ),
          snapshot.get('Egress', namespace, name) === undefined &&
            pendingFault('OSM_SPEC_REFERENCE', `${field}.name`, missing(snapshot, 'Egress', namespace, name)),
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
    doubt('OSM_SPEC_NO_EFFECT', field, 'names no gateway with a weight, so that nothing leaves')
  )
}
