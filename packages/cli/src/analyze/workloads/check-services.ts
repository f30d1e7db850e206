import {
  type CatalogErrorCode,
  dialledPorts,
  isMonitored,
  type KindMap,
  type Problem,
  portProtocol,
  resolveTargetPort,
  type WorkloadPort,
} from '@osm-ts/core'

import type { MeshModel } from '../../spec/load-mesh-model.js'
import type { AnalyzeErrorCode } from '../error-codes.js'
import { podTexts, type WrittenWorkload } from './read-workloads.js'
import { podProblem } from './workload-problems.js'

type CheckedModel = Pick<MeshModel, 'snapshot' | 'enrolment' | 'config' | 'locate'>

/** What is wrong between workloads and the Services and policies that speak of their pods. */
export function checkServices(workloads: readonly WrittenWorkload[], model: CheckedModel): readonly Problem[] {
  const { snapshot, enrolment } = model
  const callable = callableAccounts(model)
  const ofIngress = new Set(
    snapshot
      .list('IngressBackend')
      .flatMap(({ metadata, spec }) => spec.backends.map(({ name }) => `${metadata.namespace}/${name}`)),
  )
  const isWithoutIngress = ({ metadata: { namespace, name } }: KindMap['Service']): boolean =>
    !ofIngress.has(`${namespace}/${name}`)
  return workloads
    .filter(({ object }) => isMonitored(snapshot, object.namespace, enrolment))
    .flatMap((workload) => {
      const services = snapshot.servicesSelecting(workload.object.namespace, podTexts(workload, 'labels'))
      return [
        ...services.flatMap((service) => portProblems(workload, service)),
        ...protocolProblems(workload, services),
        ...accountProblems(workload, services.filter(isWithoutIngress), callable),
      ]
    })
}

/** Accounts that a policy lets someone call; undefined where all may be called, or where no policy is known at all. */
function callableAccounts({ snapshot, config }: CheckedModel): ReadonlySet<string> | undefined {
  const targets = snapshot.list('TrafficTarget')
  if (config.traffic.enablePermissiveTrafficPolicyMode || targets.length === 0) return undefined
  return new Set(
    targets.map(
      ({ metadata, spec: { destination } }) => `${destination.namespace ?? metadata.namespace}/${destination.name}`,
    ),
  )
}

function accountProblems(
  workload: WrittenWorkload,
  services: readonly KindMap['Service'][],
  callable: ReadonlySet<string> | undefined,
): readonly Problem[] {
  const [service] = services
  if (callable === undefined || service === undefined) return []
  const { serviceAccountName } = podSpec(workload)
  const isNamed = typeof serviceAccountName === 'string' && serviceAccountName !== ''
  const account = `${workload.object.namespace}/${isNamed ? serviceAccountName : 'default'}`
  if (callable.has(account)) return []
  const message = `no TrafficTarget has service account ${account} as its destination, so no workload of the mesh may call Service ${service.metadata.name}`
  const code: AnalyzeErrorCode = 'OSM_ANALYZE_POD_ACCOUNT'
  return [
    podProblem(workload, { code, severity: 'warning', message, field: isNamed ? 'spec.serviceAccountName' : 'spec' }),
  ]
}

function portProblems(workload: WrittenWorkload, service: KindMap['Service']): readonly Problem[] {
  const { namespace, name } = service.metadata
  const ports = portsOf(workload)
  return dialledPorts(service).flatMap((port) => {
    if (resolveTargetPort(port, ports) !== undefined) return []
    const known = ports.flatMap((each) => each.name ?? [])
    const message = `Service ${namespace}/${name} leads to port ${JSON.stringify(port.targetPort)}, and no container has a port of that name; names are ${known.join(', ') || 'not given'}`
    const code: AnalyzeErrorCode = 'OSM_ANALYZE_POD_PORT'
    return [podProblem(workload, { code, severity: 'warning', message, field: 'spec.containers' })]
  })
}

/** Ports of Services that lead to one port of the pods by several protocols. */
function protocolProblems(workload: WrittenWorkload, services: readonly KindMap['Service'][]): readonly Problem[] {
  const ports = portsOf(workload)
  const first = new Map<number, { readonly protocol: string; readonly title: string }>()
  return services.flatMap((service) =>
    dialledPorts(service).flatMap((port) => {
      const target = resolveTargetPort(port, ports)
      if (target === undefined) return []
      const { protocol } = portProtocol(port)
      const title = `port ${port.port} of Service ${service.metadata.namespace}/${service.metadata.name}`
      const before = first.get(target)
      if (before === undefined) first.set(target, { protocol, title })
      if (before === undefined || before.protocol === protocol) return []
      const code: CatalogErrorCode = 'OSM_POLICY_PORT_CONFLICT'
      const message = `port ${target} of the pods speaks ${before.protocol} by ${before.title} and ${protocol} by ${title}; give both one protocol`
      return [podProblem(workload, { code, severity: 'error', message, field: 'spec.containers' })]
    }),
  )
}

/** Ports of TCP that the containers declare. */
function portsOf(workload: WrittenWorkload): readonly WorkloadPort[] {
  const { containers, initContainers } = podSpec(workload)
  return [containers, initContainers]
    .flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []))
    .flatMap((container) => {
      const { ports } = (container ?? {}) as { readonly ports?: unknown }
      return Array.isArray(ports) ? (ports as readonly unknown[]) : []
    })
    .flatMap((port) => {
      const { name, containerPort, protocol } = (port ?? {}) as Readonly<Record<string, unknown>>
      if (typeof containerPort !== 'number' || (protocol ?? 'TCP') !== 'TCP') return []
      return [{ port: containerPort, ...(typeof name === 'string' && { name }) }]
    })
}

function podSpec({ template: { pod } }: WrittenWorkload): Readonly<Record<string, unknown>> {
  return (pod['spec'] ?? {}) as Readonly<Record<string, unknown>>
}
