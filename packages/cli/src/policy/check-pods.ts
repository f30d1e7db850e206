import { formatObjectRef, isMonitored, type KindMap, objectRef, type ObjectRef, proxyKeyOfInstance } from '@osm-ts/core'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'

import { cliError } from '../errors.js'
import type { NamedThing } from '../policy-question.js'
import type { MeshModel } from '../spec/load-mesh-model.js'
import { allowedRequests, type AllowedRequests } from './allowed-requests.js'

/** May one pod call another? */
export interface PodsAnswer {
  readonly allowed: boolean
  readonly permissive: boolean
  /** TrafficTargets that allow it. */
  readonly trafficTargets: readonly ObjectRef[]
  /** What may be asked at which port. */
  readonly requests: readonly Omit<AllowedRequests, 'part'>[]
  /** What is missing, where it is not allowed. */
  readonly reason?: string
}

/**
 * Answers from the policies that the mesh computes of its objects.
 *
 * @throws OsmError `OSM_CLI_INSTANCE` if one of the pods does not exist, or has no sidecar
 */
export function checkPods(mesh: MeshModel, meshName: string, from: NamedThing, to: NamedThing): PodsAnswer {
  const [caller, callee] = [meshedPod(mesh, meshName, from), meshedPod(mesh, meshName, to)]
  const permissive = mesh.config.traffic.enablePermissiveTrafficPolicyMode
  const found = allowedRequests(callee.policy, caller.policy.proxy.principal)
  const origins = found.flatMap(({ part }) => mesh.catalog.originsOf(part)).map(({ object }) => formatObjectRef(object))
  const named = targetsBetween(mesh, caller.instance, callee.instance)
  const answer = {
    allowed: found.length > 0,
    permissive,
    trafficTargets: permissive ? [] : named.filter((target) => origins.includes(formatObjectRef(target))),
    requests: found.map(({ part: _part, ...requests }) => requests),
  }
  if (answer.allowed) return answer
  return { ...answer, reason: permissive ? noService(to) : missing(named, caller.instance, callee.instance) }
}

/** The lines of the answer. */
export function podsLines(
  { allowed, permissive, trafficTargets, requests, reason = '' }: PodsAnswer,
  { from, to, mesh }: { readonly from: NamedThing; readonly to: NamedThing; readonly mesh: string },
): readonly string[] {
  const pods = `Pod [${shown(from)}] is ${allowed ? '' : 'not '}allowed to communicate to pod [${shown(to)}]`
  const how = requests.flatMap(({ service, port, protocol, requests: kinds }) =>
    kinds.map((kind) => `      ${service.namespace}/${service.name} port ${port} (${protocol}): ${kind}`),
  )
  const mode = permissive
    ? `[+] Permissive mode enabled for mesh [${mesh}]`
    : `[+] SMI traffic policy mode enabled for mesh [${mesh}]`
  if (!allowed) return [mode, '', ` [+] ${pods}: ${reason}`]
  if (permissive) return [mode, '', ` [+] ${pods}`, ...how]
  const names = trafficTargets.map(({ namespace, name }) => `[${namespace}/${name}]`).join(', ')
  return [mode, '', ` [+] ${pods} via SMI TrafficTarget ${names}`, ...how]
}

function meshedPod(
  { snapshot, catalog }: MeshModel,
  meshName: string,
  { namespace, name }: NamedThing,
): { readonly instance: KindMap['WorkloadInstance']; readonly policy: ProxyPolicy } {
  if (!isMonitored(snapshot, namespace, { mode: 'labelled', meshName }))
    throw cliError(
      'OSM_CLI_INSTANCE',
      `namespace ${namespace} of pod ${name} is not part of mesh ${meshName}`,
      `add it with osm namespace add ${namespace} --mesh-name ${meshName}`,
    )
  const instance = snapshot.get('WorkloadInstance', namespace, name)
  const policy = instance && catalog.policyDocument(proxyKeyOfInstance(instance))
  if (instance !== undefined && policy !== undefined) return { instance, policy }
  throw cliError(
    'OSM_CLI_INSTANCE',
    `mesh ${meshName} has no proxy for pod ${namespace}/${name}: the pod does not exist, has no sidecar, has no address yet, or has terminated`,
    `see kubectl get pod ${name} --namespace ${namespace}; pods get a sidecar when they are created`,
  )
}

/** TrafficTargets that name the account of one pod as a source and that of the other as their destination. */
function targetsBetween(
  { snapshot }: MeshModel,
  from: KindMap['WorkloadInstance'],
  to: KindMap['WorkloadInstance'],
): readonly ObjectRef[] {
  return snapshot
    .list('TrafficTarget')
    .filter(
      ({ metadata, spec }) =>
        metadata.namespace === to.metadata.namespace &&
        spec.destination.name === to.spec.serviceAccountName &&
        spec.sources.some(
          ({ name, namespace = metadata.namespace }) =>
            name === from.spec.serviceAccountName && namespace === from.metadata.namespace,
        ),
    )
    .map((target) => objectRef(target))
}

function noService(to: NamedThing): string {
  return `no Service with a TCP port selects pod [${shown(to)}]`
}

function missing(
  named: readonly ObjectRef[],
  from: KindMap['WorkloadInstance'],
  to: KindMap['WorkloadInstance'],
): string {
  const account = ({ metadata, spec }: KindMap['WorkloadInstance']): string =>
    `[${metadata.namespace}/${spec.serviceAccountName}]`
  if (named.length === 0)
    return `missing SMI TrafficTarget policy from service account ${account(from)} to ${account(to)}`
  const names = named.map(({ namespace, name }) => `[${namespace}/${name}]`).join(', ')
  return `SMI TrafficTarget ${names} allows no port of the pod; see its status, and the Services that select the pod`
}

function shown({ namespace, name }: NamedThing): string {
  return `${namespace}/${name}`
}
