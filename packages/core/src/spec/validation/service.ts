import type { KindMap } from '../objects.js'
import { knownAppProtocols, portProtocol, suggestedProtocol } from '../protocol.js'
import { DEFAULT_AFFINITY_SECONDS } from '../schema/core-v1.js'
import { didYouMean } from '../suggest.js'
import { doubt, fault, findings, pendingFault, type CheckContext, type Finding } from './check.js'

type Service = KindMap['Service']
type Port = Service['spec']['ports'][number]

/** Services whose ports clash or lead nowhere. */
export function checkService(service: Service, context: CheckContext): readonly Finding[] {
  const { ports } = service.spec
  const numbers = new Set<string>()
  const names = new Set<string>()
  const ofPorts = ports.flatMap((port, index) => {
    const field = `spec.ports[${index}]`
    const number = `${port.protocol} ${port.port}`
    const clash = numbers.has(number)
    const sameName = port.name !== undefined && names.has(port.name)
    numbers.add(number)
    if (port.name !== undefined) names.add(port.name)
    return findings(
      clash &&
        fault(
          'OSM_SPEC_SERVICE_PORT',
          `${field}.port`,
          `${number} is already a port of this Service; the first one applies`,
        ),
      sameName &&
        fault(
          'OSM_SPEC_SERVICE_PORT',
          `${field}.name`,
          `${JSON.stringify(port.name)} is already the name of another port; names must be unique`,
        ),
      ports.length > 1 &&
        port.name === undefined &&
        doubt(
          'OSM_SPEC_SERVICE_PORT',
          `${field}.name`,
          'is missing: if there are several ports, each must have a name',
        ),
      port.protocol !== 'TCP' &&
        doubt(
          'OSM_SPEC_PROTOCOL',
          `${field}.protocol`,
          `${port.protocol} is not supported by the mesh, which carries TCP only`,
        ),
      checkAppProtocol(port, field),
      checkTarget(service, port, `${field}.targetPort`, context),
    )
  })
  return [...checkBalancing(service), ...ofPorts]
}

const distributions = ['PreferClose', 'PreferSameZone', 'PreferSameNode']
const affinities = ['ClientIP', 'None']
const internalPolicies = ['Cluster', 'Local']

/** Settings of how endpoints are chosen that the mesh obeys in part, or not at all. */
function checkBalancing({ spec }: Service): readonly Finding[] {
  const { internalTrafficPolicy, trafficDistribution, sessionAffinity, sessionAffinityConfig } = spec
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds
  return findings(
    internalTrafficPolicy === 'Local' &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec.internalTrafficPolicy',
        "Local has no effect for clients in the mesh: endpoints of every node get requests; trafficDistribution prefers those of the client's zone",
      ),
    trafficDistribution === 'PreferSameNode' &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec.trafficDistribution',
        'PreferSameNode counts as PreferSameZone for clients in the mesh, which knows no nodes',
      ),
    sessionAffinity === 'ClientIP' &&
      seconds !== undefined &&
      seconds !== DEFAULT_AFFINITY_SECONDS &&
      doubt(
        'OSM_SPEC_NO_EFFECT',
        'spec.sessionAffinityConfig.clientIP.timeoutSeconds',
        'has no effect for clients in the mesh: a client stays with its endpoint as long as the endpoints stay',
      ),
    unknownWord(internalTrafficPolicy, internalPolicies, 'internalTrafficPolicy'),
    unknownWord(trafficDistribution, distributions, 'trafficDistribution'),
    unknownWord(sessionAffinity, affinities, 'sessionAffinity'),
  )
}

/** An API server has checked the words of Kubernetes; a file may have any, and a newer Kubernetes more. */
function unknownWord(word: string | undefined, known: readonly string[], field: string): Finding | false {
  if (word === undefined || word === '' || known.includes(word)) return false
  const hint = didYouMean(word, known) || `; known are ${known.join(', ')}`
  return doubt('OSM_SPEC_NO_EFFECT', `spec.${field}`, `${JSON.stringify(word)} is unknown and has no effect${hint}`)
}

function checkAppProtocol(port: Port, field: string): Finding | undefined {
  if (port.protocol !== 'TCP') return undefined
  const { unknown } = portProtocol(port)
  if (unknown !== undefined) {
    const known = knownAppProtocols()
    return doubt(
      'OSM_SPEC_PROTOCOL',
      `${field}.appProtocol`,
      `${JSON.stringify(unknown)} is unknown and treated as tcp${didYouMean(unknown, known) || `; known are ${known.join(', ')}`}`,
    )
  }
  const suggested = suggestedProtocol(port)
  if (suggested === undefined) return undefined
  return doubt(
    'OSM_SPEC_PROTOCOL',
    `${field}.appProtocol`,
    `is missing, so the port is treated as http, although ${portText(port)} is usual for ${suggested.name}; set ${suggested.beginsWithTls ? 'https for TLS' : 'tcp, or tcp-server-first where the server speaks first'}`,
  )
}

function portText({ name, port }: Port): string {
  return name === undefined ? `port ${port}` : `port ${JSON.stringify(name)}, number ${port},`
}

/** A port name that none of the workloads behind the service has. */
function checkTarget(
  service: Service,
  { targetPort }: Port,
  field: string,
  { snapshot }: CheckContext,
): Finding | undefined {
  if (typeof targetPort !== 'string') return undefined
  const members = [...snapshot.workloadsOf(service), ...snapshot.instancesOf(service)]
  const names = members.flatMap(({ spec }) => spec.ports.flatMap(({ name }) => name ?? []))
  if (members.length === 0 || names.includes(targetPort)) return undefined
  return pendingFault(
    'OSM_SPEC_SERVICE_PORT',
    field,
    `no workload of this Service has a port named ${JSON.stringify(targetPort)}${didYouMean(targetPort, names)}`,
  )
}
