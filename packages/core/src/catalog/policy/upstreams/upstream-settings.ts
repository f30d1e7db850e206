import type { MeshService } from '@osm-ts/driver-api'
import type {
  ConnectionLimits,
  Protocol,
  RateLimits,
  RouteLimits,
  StatisticalCircuitBreaker,
  UpstreamPart,
} from '@osm-ts/driver-api/policy'

import { parseDuration } from '../../../config/index.js'
import { serviceOfHost, type KindMap } from '../../../spec/index.js'
import { deepEqual, defineQuery, type QueryContext } from '../../incremental/index.js'
import type { CatalogState } from '../../inputs/catalog-state.js'
import { indexInputs, objectInputs, settingInputs } from '../../inputs/inputs.js'
import { nameKey, type NamespacedName } from '../parts/keys.js'
import type { Origins, SourceRef } from '../parts/policy-part.js'
import { objectRefOf } from '../problems/problems.js'
import { isHttp } from './protocol.js'
import { rateLimitsOf, routeLimitsOf } from './rate-limits.js'
import { calledService } from './services.js'

type Context = QueryContext<CatalogState>
type SettingSpec = KindMap['UpstreamTrafficSetting']['spec']
type HttpSettings = NonNullable<NonNullable<SettingSpec['connectionSettings']>['http']>
type BreakerSpec = NonNullable<HttpSettings['circuitBreaking']>

/** How clients connect to an upstream. */
export type ConnectionSettings = Pick<UpstreamPart, 'connectTimeoutMs' | 'limits' | 'circuitBreaker'>

/** What an UpstreamTrafficSetting says. */
export interface UpstreamSettings {
  /** Kept by the calling side. */
  readonly connection: ConnectionSettings
  /** Kept by the called side, as is the rest. */
  readonly rateLimits: RateLimits
  readonly routeLimits: readonly RouteLimits[]
}

/** What the UpstreamTrafficSetting of that name says; undefined if there is none. */
const upstreamSettings = defineQuery<CatalogState, NamespacedName, UpstreamSettings | undefined>({
  name: 'upstream-settings',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, name) => {
    const setting = context.get(objectInputs.UpstreamTrafficSetting, name)
    return (
      setting && {
        connection: connectionSettings(setting.spec),
        rateLimits: rateLimitsOf(setting.spec.rateLimit ?? {}),
        routeLimits: routeLimitsOf(setting.spec),
      }
    )
  },
})

/** The UpstreamTrafficSetting of a service: of several for one host the first by name holds. */
const settingOfService = defineQuery<CatalogState, MeshService, NamespacedName | undefined>({
  name: 'setting-of-service',
  keyOf: nameKey,
  equal: deepEqual,
  compute: (context, service) => {
    const { clusterDomain } = context.get(settingInputs.domains, '')
    return context.get(indexInputs.settingsByService, nameKey(service)).find((name) => {
      const host = context.get(objectInputs.UpstreamTrafficSetting, name)?.spec.host ?? ''
      const named = serviceOfHost(host, name.namespace, clusterDomain)
      return named !== undefined && nameKey(named) === nameKey(service)
    })
  },
})

/** Members of an `upstream` part, with where they came from. */
export interface UpstreamConnection {
  readonly members: ConnectionSettings
  readonly origins: Origins
}

/** Towards a service. An instance of a headless service without its own setting takes the service's. */
export function upstreamConnection(context: Context, service: MeshService, protocol: Protocol): UpstreamConnection {
  const name = context.get(settingOfService, service) ?? context.get(settingOfService, calledService(service).parent)
  return settingConnection(context, name, protocol)
}

/** What the UpstreamTrafficSetting of that name, if there is one, says to callers. */
export function settingConnection(
  context: Context,
  name: NamespacedName | undefined,
  protocol: Protocol,
): UpstreamConnection {
  const settings = name === undefined ? undefined : context.get(upstreamSettings, name)
  if (name === undefined || settings === undefined) return { members: {}, origins: {} }
  const { connectTimeoutMs, limits, circuitBreaker } = settings.connection
  const kept = limits && (isHttp(protocol) ? limits : tcpLimits(limits))
  const members: ConnectionSettings = {
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(kept === undefined || Object.keys(kept).length === 0 ? {} : { limits: kept }),
    ...(circuitBreaker === undefined || !isHttp(protocol) ? {} : { circuitBreaker }),
  }
  return { members, origins: originsOf(name, { ...members }, 'spec.connectionSettings') }
}

/** Limits that the called side of a service keeps. */
export interface ServedLimits {
  /** Of `inbound` and `ingress` parts. */
  readonly members: { readonly rateLimits?: RateLimits }
  readonly routeLimits: readonly RouteLimits[]
  /** Of both, where `routeLimits` are in the rules of an `inbound` part. */
  readonly origins: Origins
}

/** Limits that the called side of a service keeps. */
export function servedLimits(context: Context, service: MeshService, protocol: Protocol): ServedLimits {
  const name = context.get(settingOfService, service)
  const settings = name === undefined ? undefined : context.get(upstreamSettings, name)
  if (name === undefined || settings === undefined) return { members: {}, routeLimits: [], origins: {} }
  const { tcp, globalTcp } = settings.rateLimits
  const http = isHttp(protocol)
  const rateLimits: RateLimits = http
    ? settings.rateLimits
    : { ...(tcp === undefined ? {} : { tcp }), ...(globalTcp === undefined ? {} : { globalTcp }) }
  const members = Object.keys(rateLimits).length === 0 ? {} : { rateLimits }
  const routeLimits = http ? settings.routeLimits : []
  return {
    members,
    routeLimits,
    origins: {
      ...originsOf(name, members, 'spec.rateLimit'),
      ...(routeLimits.length === 0 ? {} : originsOf(name, { 'rules/routeLimits': [] }, 'spec.httpRoutes')),
    },
  }
}

function originsOf(name: NamespacedName, members: object, field: string): Origins {
  const source: SourceRef = { object: objectRefOf('UpstreamTrafficSetting', name), field }
  return Object.fromEntries(Object.keys(members).map((member) => [`/${member}`, [source]]))
}

function tcpLimits({ maxConnections }: ConnectionLimits): ConnectionLimits {
  return maxConnections === undefined ? {} : { maxConnections }
}

function connectionSettings({ connectionSettings: { tcp, http } = {} }: SettingSpec): ConnectionSettings {
  const connectTimeoutMs = positive(tcp?.connectTimeout)
  const limits: ConnectionLimits = {
    ...(tcp?.maxConnections === undefined ? {} : { maxConnections: tcp.maxConnections }),
    ...(http?.maxPendingRequests === undefined ? {} : { maxPendingRequests: http.maxPendingRequests }),
    ...(http?.maxRequests === undefined ? {} : { maxRequests: http.maxRequests }),
    ...(http?.maxRequestsPerConnection === undefined
      ? {}
      : { maxRequestsPerConnection: http.maxRequestsPerConnection }),
    ...(http?.maxRetries === undefined ? {} : { maxRetries: http.maxRetries }),
  }
  const circuitBreaker = http?.circuitBreaking && breaker(http.circuitBreaking)
  return {
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(circuitBreaker === undefined ? {} : { circuitBreaker }),
  }
}

/** Windows of a breaker that names none. */
const BREAKER_WINDOW_MS = 60_000
/** What osm-edge answers while a circuit is broken. */
const DEGRADED = { status: 409, body: 'Coming soon ...' } as const

/** A threshold of 0 disables itself. Without any other threshold there is no breaker. */
function breaker(spec: BreakerSpec): StatisticalCircuitBreaker | undefined {
  const slowThresholdMs = positive(spec.slowTimeThreshold)
  const share = (ratio: number | undefined): number => Math.min(ratio ?? 0, 1)
  const thresholds = {
    ...(slowThresholdMs !== undefined && spec.slowAmountThreshold ? { slowAmount: spec.slowAmountThreshold } : {}),
    ...(slowThresholdMs !== undefined && spec.slowRatioThreshold ? { slowRatio: share(spec.slowRatioThreshold) } : {}),
    ...(spec.errorAmountThreshold ? { errorAmount: spec.errorAmountThreshold } : {}),
    ...(spec.errorRatioThreshold ? { errorRatio: share(spec.errorRatioThreshold) } : {}),
  }
  if (Object.keys(thresholds).length === 0) return undefined
  return {
    statWindowMs: positive(spec.statTimeWindow) ?? BREAKER_WINDOW_MS,
    minRequests: spec.minRequestAmount ?? 1,
    degradedWindowMs: positive(spec.degradedTimeWindow) ?? BREAKER_WINDOW_MS,
    ...(slowThresholdMs === undefined ? {} : { slowThresholdMs }),
    ...thresholds,
    degradedStatusCode: spec.degradedStatusCode ?? DEGRADED.status,
    degradedBody: spec.degradedResponseContent ?? DEGRADED.body,
  }
}

/** Milliseconds of a valid duration that is not zero. */
function positive(text: string | undefined): number | undefined {
  const milliseconds = text === undefined ? undefined : parseDuration(text)
  return milliseconds !== undefined && milliseconds > 0 ? milliseconds : undefined
}
