import type { KindMap } from '../objects.js'
import { knownAppProtocols, portProtocol } from '../protocol.js'
import { didYouMean } from '../suggest.js'
import { doubt, fault, findings, pendingFault, type CheckContext, type Finding } from './check.js'

type Service = KindMap['Service']
type Port = Service['spec']['ports'][number]

/** Services whose ports clash or lead nowhere. */
export function checkService(service: Service, context: CheckContext): readonly Finding[] {
  const { ports } = service.spec
  const numbers = new Set<string>()
  const names = new Set<string>()
  return ports.flatMap((port, index) => {
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
          `${number} is a port of this Service already; the first one holds`,
        ),
      sameName &&
        fault(
          'OSM_SPEC_SERVICE_PORT',
          `${field}.name`,
          `${JSON.stringify(port.name)} is the name of another port; give each its own`,
        ),
      ports.length > 1 &&
        port.name === undefined &&
        doubt('OSM_SPEC_SERVICE_PORT', `${field}.name`, 'is missing: with several ports each needs a name'),
      port.protocol !== 'TCP' &&
        doubt('OSM_SPEC_PROTOCOL', `${field}.protocol`, `${port.protocol} is not carried by the mesh: only TCP is`),
      checkAppProtocol(port, field),
      checkTarget(service, port, `${field}.targetPort`, context),
    )
  })
}

function checkAppProtocol(port: Port, field: string): Finding | undefined {
  const { unknown } = portProtocol(port)
  if (unknown === undefined) return undefined
  const known = knownAppProtocols()
  return doubt(
    'OSM_SPEC_PROTOCOL',
    `${field}.appProtocol`,
    `${JSON.stringify(unknown)} is not known and counts as http${didYouMean(unknown, known) || `; known are ${known.join(', ')}`}`,
  )
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
