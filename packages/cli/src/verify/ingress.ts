import type { KindMap } from '@osm-ts/core'
import { type KubernetesObject, proxyUuidLabel, resourceTypes } from '@osm-ts/kubernetes'

import type { NamedThing } from '../policy-question.js'
import { partOf } from '../proxy/find-parts.js'
import type { ExplainedPolicy } from '../state/debug-api.js'
import { failure, success, together, unknown, type Check } from './check.js'
import {
  checkNamespace,
  checkProxy,
  checkSidecar,
  noteOf,
  podsBehind,
  policyOf,
  readPod,
  told,
  type Told,
  type VerifiedMesh,
} from './meshed-pod.js'

/** Who comes in from outside, and to what. */
export interface IngressQuestion {
  /** Service of the gateway. */
  readonly from: NamedThing
  readonly pod: NamedThing
  /** Names in the namespace of the pod. */
  readonly service: string
  readonly ingressBackend: string
  /** Port of the pod. */
  readonly port: number
  readonly protocol: string
}

/** Verifies that a gateway outside the mesh can call a pod. */
export async function verifyIngress(mesh: VerifiedMesh, question: IngressQuestion): Promise<Check> {
  const { from, pod: podName, service, ingressBackend } = question
  const { api, signal } = mesh.cluster
  const { namespace } = podName
  const pod = await readPod(mesh, podName)
  const [statuses, policy, gateways, backend] = await Promise.all([
    told(mesh.debug.statuses()),
    policyOf(mesh, pod),
    podsBehind(mesh, from),
    api.get(resourceTypes.IngressBackend, { namespace, name: ingressBackend }, signal),
  ])
  const gateway = `${from.namespace}/${from.name}`
  const context = `Verify that gateway [${gateway}] can access pod [${pod.name}] by service [${namespace}/${service}]`
  return together(
    context,
    [
      // That of the gateway need not take part.
      await checkNamespace(mesh, namespace),
      checkGateway(gateway, gateways),
      checkSidecar(pod),
      checkBackend(question, backend),
      checkProxy(pod, statuses),
      checkPolicy(question, pod.name, policy),
    ],
    noteOf(statuses, mesh),
  )
}

/** A gateway with a sidecar would be a caller of the mesh, whom an IngressBackend does not let in. */
function checkGateway(name: string, pods: readonly KubernetesObject[] | undefined): Check {
  const context = `Verify that the pods of gateway [${name}] run without a sidecar`
  if (pods === undefined) return failure(context, 'there is no such Service', 'see kubectl get services')
  if (pods.length === 0)
    return failure(
      context,
      'the Service selects no pod',
      'check that the gateway is running, and check the selector of its Service',
    )
  const meshed = pods.filter(({ metadata }) => metadata.labels?.[proxyUuidLabel] !== undefined)
  if (meshed.length === 0) return success(context)
  const names = meshed.map(({ metadata }) => metadata.name).join(', ')
  return failure(
    context,
    `these have one: ${names}`,
    `osm namespace add ${name.split('/')[0] ?? ''} --disable-sidecar-injection, and re-create the pods`,
  )
}

function checkBackend(
  { from, pod: { namespace }, service, ingressBackend, port, protocol }: IngressQuestion,
  object: KubernetesObject | undefined,
): Check {
  const context = `Verify that IngressBackend [${namespace}/${ingressBackend}] is for the gateway, the service and the port`
  if (object === undefined)
    return failure(
      context,
      'there is no such IngressBackend',
      `see kubectl get ingressbackends --namespace ${namespace}`,
    )
  // The API server has checked it by the schema of its kind.
  const { backends, sources } = object['spec'] as KindMap['IngressBackend']['spec']
  const own = backends.find((backend) => backend.name === service && backend.port.number === port)
  if (own === undefined)
    return failure(
      context,
      `it has no backend ${service} with port ${port}`,
      'spec.backends name Services, and the ports of their pods',
    )
  const wanted = own.port.protocol.toLowerCase()
  if (wanted !== protocol.toLowerCase())
    return failure(context, `its backend speaks ${wanted}, but ${protocol} was asked for`, 'choose --app-protocol')
  const isNamed = sources.some(
    ({ kind, name, namespace: other }) => kind === 'Service' && name === from.name && other === from.namespace,
  )
  if (isNamed) return success(context)
  if (sources.some(({ kind }) => kind === 'IPRange'))
    return unknown(
      context,
      `its sources do not name Service ${from.namespace}/${from.name}; they name address ranges, which may hold the gateway`,
      'compare the ranges with the addresses of the pods of the gateway',
    )
  return failure(
    context,
    `its sources do not name Service ${from.namespace}/${from.name}`,
    'add a source of kind Service with its name and namespace',
  )
}

function checkPolicy(
  { pod: { namespace }, service, port }: IngressQuestion,
  pod: string,
  policy: Told<ExplainedPolicy>,
): Check {
  const context = `Verify that the policy of pod [${pod}] allows gateways on port ${port}`
  if ('fault' in policy) return unknown(context, policy.fault, policy.hint)
  const { proxy } = policy.value
  const open = proxy.ingress.flatMap(({ part }) => partOf(policy.value, 'ingress', part) ?? [])
  const own = open.filter(
    (part) => part.service.namespace === namespace && part.service.name === service && part.targetPort === port,
  )
  const [first] = own
  if (first === undefined)
    return failure(
      context,
      'it allows no callers from outside on this port',
      `see whether spec.featureFlags.enableIngressBackendPolicy of the MeshConfig is true; osm policy check-conflicts IngressBackend --namespace ${namespace} shows conflicts with other objects`,
    )
  if (first.sources.length === 0)
    return failure(context, 'no address is allowed', 'see whether the Service of the gateway has endpoints')
  return success(context, `for ${[...new Set(own.flatMap(({ sources }) => sources))].join(', ')}`)
}
