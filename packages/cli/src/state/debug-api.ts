import { isOsmError, type MeshService } from '@osm-ts/driver-api'
import type { ProxyPolicy } from '@osm-ts/driver-api/policy'
import type {
  ChangeReport,
  DriverState,
  EndpointWithoutProxy,
  ObjectRef,
  ParticipationReport,
  Problem,
  ProxyParticipation,
  ProxyStatus,
  RefusedPeerStatus,
  ServiceReport,
  StatusCondition,
} from '@osm-ts/core'
import { errorMessage, isRecord } from '@osm-ts/driver-api/toolkit'

import { type CertificatesReport, readCertificatesReport } from '../certificates/certificates-report.js'
import { cliError } from '../errors.js'
import { httpGet, type HttpAnswer } from './http-get.js'

/** A policy, and which objects its parts came from: by hash, and by pointer into the part. */
export interface ExplainedPolicy extends ProxyPolicy {
  readonly origins?: Readonly<Record<string, Readonly<Record<string, readonly { readonly object: ObjectRef }[]>>>>
}

/** A proxy whose policy is requested; a status is one. Its uuid alone would not do: pods of several namespaces may carry one. */
export type AskedProxy = Pick<ProxyStatus, 'uuid' | 'identity'>

/** What osm asks the controller's debug server. */
export interface DebugApi {
  readonly statuses: () => Promise<readonly ProxyStatus[]>
  /** Who was refused recently and is none of the proxies. */
  readonly refused: () => Promise<readonly RefusedPeerStatus[]>
  /** Who takes part in the mesh, and who does not yet. */
  readonly participation: () => Promise<ParticipationReport>
  /** What the mesh says of a service; undefined if it has none of that name. */
  readonly service: (name: MeshService) => Promise<ServiceReport | undefined>
  readonly policy: (proxy: AskedProxy) => Promise<ExplainedPolicy>
  /** The same; undefined for a proxy without a policy, such as one whose account cannot have a certificate. */
  readonly findPolicy: (proxy: AskedProxy) => Promise<ExplainedPolicy | undefined>
  readonly problems: () => Promise<readonly Problem[]>
  /** Who signs certificates, and which roots are trusted. */
  readonly certificates: () => Promise<CertificatesReport>
  /** The last changes and what became of them, the newest first. */
  readonly pushes: () => Promise<readonly ChangeReport[]>
  /** Drivers that the controller has, or should have. */
  readonly drivers: () => Promise<readonly DriverState[]>
}

/** The debug server behind a URL. */
export function debugApi(url: string, signal: AbortSignal): DebugApi {
  return debugApiBy(url, (path) => httpGet(`${url}${path}`, { signal }))
}

/** What has a debug server, for messages. */
interface DebuggedProgram {
  readonly name: string
  /** What to do where it does not answer. */
  readonly hint: string
}

const controller: DebuggedProgram = {
  name: 'the controller',
  hint: 'check that the mesh is running, and that spec.observability.enableDebugServer of its MeshConfig is true',
}

/** An injector has one page of the controller's, beside its health: that of its drivers. */
export function injectorDebugApiBy(
  place: string,
  getPage: (path: string) => Promise<HttpAnswer>,
): Pick<DebugApi, 'drivers'> {
  return debugApiBy(place, getPage, { name: 'the injector', hint: 'check that its pod is running' })
}

function policyPath({ uuid, identity }: AskedProxy): string {
  return `/debug/policy?uuid=${encodeURIComponent(uuid)}&identity=${encodeURIComponent(identity)}`
}

/**
 * A debug server that pages are got from in some way.
 *
 * @param place - where it is, for messages; paths are put behind it
 */
export function debugApiBy(
  place: string,
  getPage: (path: string) => Promise<HttpAnswer>,
  program: DebuggedProgram = controller,
): DebugApi {
  const find = async (path: string): Promise<unknown> => {
    const answer = await getPage(path).catch((error: unknown) => {
      // Errors of the API server itself are passed on; only an unreachable program is handled here.
      if (isOsmError(error) && !isOsmError(error, 'OSM_KUBERNETES_UNREACHABLE')) throw error
      throw cliError(
        'OSM_CLI_UNREACHABLE',
        `${program.name} does not answer at ${place}: ${errorMessage(error)}`,
        program.hint,
        error,
      )
    })
    if (answer.status === 404) return undefined
    if (answer.status !== 200) throw misunderstood(place, path, `status ${answer.status}`)
    try {
      return JSON.parse(answer.body)
    } catch (error) {
      throw misunderstood(place, path, 'no JSON', error)
    }
  }
  const get = async (path: string): Promise<unknown> => {
    const answer = await find(path)
    if (answer === undefined) throw misunderstood(place, path, 'status 404')
    return answer
  }
  const findPolicy = async (proxy: AskedProxy): Promise<ExplainedPolicy | undefined> => {
    const path = policyPath(proxy)
    const answer = await find(path)
    if (answer !== undefined && !isPolicy(answer)) throw misunderstood(place, path, 'no policy')
    return answer
  }
  return {
    statuses: async () => {
      const path = '/debug/status'
      const answer = await get(path)
      if (!isRecord(answer) || !isListOf(answer['proxies'], isProxyStatus))
        throw misunderstood(place, path, 'no list of proxies')
      return answer['proxies']
    },
    refused: async () => {
      const path = '/debug/status'
      const answer = await get(path)
      if (!isRecord(answer) || !isListOf(answer['refused'], isRefusedPeer))
        throw misunderstood(place, path, 'no list of refused peers')
      return answer['refused']
    },
    participation: async () => {
      const path = '/debug/participants'
      const answer = await get(path)
      if (
        !isRecord(answer) ||
        !isListOf(answer['proxies'], isParticipation) ||
        !isListOf(answer['endpointsWithoutProxy'], isEndpointWithoutProxy)
      )
        throw misunderstood(place, path, 'no list of participants')
      return { proxies: answer['proxies'], endpointsWithoutProxy: answer['endpointsWithoutProxy'] }
    },
    service: async ({ namespace, name }) => {
      const path = `/debug/services?service=${encodeURIComponent(`${namespace}/${name}`)}`
      const answer = await find(path)
      if (answer !== undefined && !isServiceReport(answer)) throw misunderstood(place, path, 'no service')
      return answer
    },
    policy: async (proxy) => {
      const policy = await findPolicy(proxy)
      if (policy === undefined) throw misunderstood(place, policyPath(proxy), 'status 404')
      return policy
    },
    findPolicy,
    problems: async () => {
      const path = '/debug/problems'
      const answer = await get(path)
      if (!isRecord(answer) || !isListOf(answer['problems'], isProblem))
        throw misunderstood(place, path, 'no list of problems')
      return answer['problems']
    },
    certificates: async () => {
      const path = '/debug/certs'
      const report = readCertificatesReport(await get(path))
      if (report === undefined) throw misunderstood(place, path, 'no certificates')
      return report
    },
    pushes: async () => {
      const path = '/debug/pushes'
      const answer = await get(path)
      if (!isRecord(answer) || !isListOf(answer['changes'], isChangeReport))
        throw misunderstood(place, path, 'no list of changes')
      return answer['changes']
    },
    drivers: async () => {
      const path = '/debug/drivers'
      const answer = await get(path)
      if (!isRecord(answer) || !isListOf(answer['drivers'], isDriverState))
        throw misunderstood(place, path, 'no list of drivers')
      return answer['drivers']
    },
  }
}

function misunderstood(place: string, path: string, what: string, cause?: unknown): Error {
  return cliError(
    'OSM_CLI_ANSWER',
    `${place}${path} answered with ${what}`,
    'use the osm version that started the mesh',
    cause,
  )
}

/** Looks at what the command line relies on; the controller is of the same version and answers for the rest. */
function isProxyStatus(value: unknown): value is ProxyStatus {
  return (
    isRecord(value) &&
    ['uuid', 'name', 'identity', 'class', 'state'].every((member) => typeof value[member] === 'string') &&
    typeof value['connected'] === 'boolean' &&
    Array.isArray(value['rejected']) &&
    Array.isArray(value['denied']) &&
    isListOf(value['conditions'], isCondition)
  )
}

function isParticipation(value: unknown): value is ProxyParticipation {
  return (
    isRecord(value) &&
    ['name', 'identity', 'commonName', 'state'].every((member) => typeof value[member] === 'string') &&
    isListOf(value['services'], isServiceName)
  )
}

function isEndpointWithoutProxy(value: unknown): value is EndpointWithoutProxy {
  return (
    isRecord(value) &&
    isServiceName(value['service']) &&
    ['address', 'reason'].every((member) => typeof value[member] === 'string') &&
    ['string', 'undefined'].includes(typeof value['provider']) &&
    typeof value['port'] === 'number'
  )
}

function isServiceReport(value: unknown): value is ServiceReport {
  return (
    isRecord(value) &&
    isServiceName(value['service']) &&
    ['accounts', 'inboundServices', 'trafficPolicies', 'hosts', 'endpoints'].every((it) => Array.isArray(value[it])) &&
    isRecord(value['ingress'])
  )
}

function isServiceName(value: unknown): value is EndpointWithoutProxy['service'] {
  return isRecord(value) && ['namespace', 'name'].every((member) => typeof value[member] === 'string')
}

function isCondition(value: unknown): value is StatusCondition {
  return isRecord(value) && ['code', 'message', 'since'].every((member) => typeof value[member] === 'string')
}

function isRefusedPeer(value: unknown): value is RefusedPeerStatus {
  return (
    isRecord(value) && isCondition(value) && ['address', 'last'].every((member) => typeof value[member] === 'string')
  )
}

function isPolicy(value: unknown): value is ExplainedPolicy {
  return isRecord(value) && isRecord(value['proxy']) && isRecord(value['parts'])
}

function isChangeReport(value: unknown): value is ChangeReport {
  return (
    isRecord(value) &&
    ['change', 'debounceMs', 'recomputeMs'].every((member) => typeof value[member] === 'number') &&
    ['cause', 'proxies', 'ack', 'queue', 'translate', 'encode', 'send'].every((it) => isRecord(value[it])) &&
    typeof value['time'] === 'string'
  )
}

function isDriverState(value: unknown): value is DriverState {
  return isRecord(value) && ['name', 'origin', 'state', 'version'].every((it) => typeof value[it] === 'string')
}

function isProblem(value: unknown): value is Problem {
  return isRecord(value) && ['code', 'severity', 'message'].every((member) => typeof value[member] === 'string')
}

function isListOf<T>(value: unknown, is: (item: unknown) => item is T): value is readonly T[] {
  return Array.isArray(value) && value.every(is)
}
