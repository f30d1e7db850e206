import { resourceTypes } from '@osm-ts/kubernetes'
import { isOsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import {
  controlPlanePrograms,
  healthPort,
  podsOfProgram,
  type ControlPlaneProgram,
} from '../kubernetes/control-planes.js'
import { getFromPod, type Cluster } from '../kubernetes/open-cluster.js'
import { failure, success, together, unknown, type Check } from './check.js'

const pages = ['/health/alive', '/health/ready']

type Pod = Awaited<ReturnType<typeof podsOfProgram>>[number]

/** Verifies that every program of the control plane in a namespace runs, says that it is ready, and answers its probes. */
export async function verifyControlPlane(cluster: Cluster, namespace: string): Promise<Check> {
  const programs = await Promise.all(controlPlanePrograms.map((program) => verifyProgram(cluster, namespace, program)))
  return together(`Verify the control plane in namespace [${namespace}]`, programs)
}

async function verifyProgram(cluster: Cluster, namespace: string, program: ControlPlaneProgram): Promise<Check> {
  const context = `Verify the health of ${program}`
  const name = { namespace, name: program }
  const deployment = await cluster.api.get(resourceTypes.Deployment, name, cluster.signal, { answer: 'metadata' })
  if (deployment === undefined)
    return failure(
      context,
      `there is no Deployment ${program} in namespace ${namespace}`,
      'install a mesh, or set its namespace with --osm-namespace',
    )
  const pods = await podsOfProgram(cluster, namespace, program)
  if (pods.length === 0)
    return failure(context, 'it has no pods', `see kubectl describe deployment ${program} --namespace ${namespace}`)
  const checks = await Promise.all(pods.map((pod) => verifyPod(cluster, pod)))
  return together(context, checks.flat())
}

async function verifyPod(cluster: Cluster, pod: Pod): Promise<readonly Check[]> {
  const context = `Verify that pod [${pod.namespace}/${pod.name}] is ready`
  const ready = pod.ready
    ? success(context)
    : failure(context, `it is ${pod.phase}`, `see kubectl describe pod ${pod.name} --namespace ${pod.namespace}`)
  return [ready, ...(await Promise.all(pages.map((page) => probe(cluster, pod, page))))]
}

async function probe(cluster: Cluster, pod: Pod, page: string): Promise<Check> {
  const context = `Verify that pod [${pod.namespace}/${pod.name}] answers ${page}`
  const logs = `see kubectl logs ${pod.name} --namespace ${pod.namespace}`
  try {
    const { status, body } = await getFromPod(cluster, pod, healthPort, page)
    return status === 200 ? success(context) : failure(context, `it answers ${status}: ${body.trim()}`, logs)
  } catch (error) {
    cluster.signal.throwIfAborted()
    const reason = errorMessage(error)
    // That somebody may not ask says nothing about the answer.
    return isOsmError(error, 'OSM_KUBERNETES_FORBIDDEN')
      ? unknown(context, reason, 'request a role that allows get and create of pods/portforward')
      : failure(context, reason, logs)
  }
}
