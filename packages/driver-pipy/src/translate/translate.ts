import { HEALTH_CHECK_HEADER, HEALTH_CHECK_PATH } from '@osm-ts/driver-api'
import type { MeshPart, PartLookup, ProxyPart, Refusal, TlsVersion, TrustPart } from '@osm-ts/driver-api/policy'

import type { CredentialNeed } from '../config/further-credentials.js'
import type { PipyConfig } from '../config/types.js'
import { socketText } from './address.js'
import { calledServices, destinationsOutside } from './called.js'
import { CredentialNeeds } from './credential-needs.js'
import { logFormat } from './log-format.js'
import { namesOf } from './names.js'
import { pluginsOf } from './plugins.js'
import { probesOf } from './probes.js'
import { remoteLogOf, tracingOf } from './telemetry.js'
import { servedPorts } from './served.js'
import { upstreams } from './upstreams.js'
import { PolicyReader, RegexTables } from './policy-reader.js'

/** What a proxy is to do, and what of its policy it can't do. */
export interface Translation {
  readonly config: PipyConfig
  /** In a fixed order; each is closed in the configuration. */
  readonly refusals: readonly Refusal[]
  /** What the sidecar needs besides its own certificate. */
  readonly needs: readonly CredentialNeed[]
}

/** Pipy has one bound for connections of both kinds: the longer one, so that none is closed early; 0 for never. */
function longestIdleMs({ tcpIdleTimeoutMs, streamIdleTimeoutMs }: MeshPart): number {
  return Math.min(tcpIdleTimeoutMs, streamIdleTimeoutMs) === 0 ? 0 : Math.max(tcpIdleTimeoutMs, streamIdleTimeoutMs)
}

/**
 * Turns a policy into the configuration of a sidecar. Pure: equal policies give equal configurations, in whatever order their sets list things.
 *
 * @param parts - gives every part that is reachable from the proxy part
 * @param regexes - tables that were made before
 * @throws OsmError with code `OSM_POLICY_INVALID` if a reference leads to a part of another kind
 */
export function translate(proxy: ProxyPart, parts: PartLookup, regexes = new RegexTables()): Translation {
  const reader = new PolicyReader(parts, regexes)
  const needs = new CredentialNeeds()
  const mesh = reader.part(proxy.mesh, 'mesh')
  const trust = reader.part(proxy.trust, 'trust')
  const { served, ingress, callers } = servedPorts(proxy, reader)
  const accessLogFormat = logFormat(mesh.accessLog, reader, { kind: 'mesh', id: 'mesh', hash: proxy.mesh })
  const { rules: outside, gateways } = destinationsOutside(proxy, reader)
  const config: PipyConfig = {
    format: 1,
    mode: proxy.mode,
    trust: trustOf(trust),
    ...(mesh.activeHealthChecks ? { healthCheck: { path: HEALTH_CHECK_PATH, header: HEALTH_CHECK_HEADER } } : {}),
    ...(proxy.workloadEnded === true ? { ended: true } : {}),
    workload: { identity: proxy.identity, namespace: proxy.namespace, ...proxy.workload },
    listen: listenersOf(proxy),
    idleMs: longestIdleMs(mesh),
    withdrawalMs: mesh.withdrawalTimeoutMs,
    ...(mesh.keepsEscapedSlashes === true ? { keepsEscapedSlashes: true } : {}),
    accessLog: mesh.accessLog.enabled,
    ...(accessLogFormat === undefined ? {} : { accessLogFormat }),
    requestMetrics: mesh.requestMetrics,
    ...namesOf(proxy, reader),
    ...tracingOf(mesh),
    ...remoteLogOf(mesh, proxy, reader, needs),
    egress: mesh.egressEnabled,
    callers,
    served,
    ingress,
    called: calledServices(proxy, reader),
    outside,
    ...(Object.keys(gateways.ways).length === 0 ? {} : { ways: gateways.ways }),
    ...(gateways.others === undefined ? {} : { othersWay: gateways.others }),
    upstreams: upstreams(proxy, reader, mesh, needs),
    probes: probesOf(proxy),
    plugins: pluginsOf(proxy, reader),
  }
  return { config, refusals: reader.refusals, needs: needs.list }
}

function listenersOf({ mode, listen }: ProxyPart): PipyConfig['listen'] {
  const { inbound, outbound, outboundHttp, metrics, dns } = listen
  const transparent = mode === 'transparent'
  return {
    ...(transparent && inbound !== undefined ? { inbound: socketText(inbound) } : {}),
    ...(transparent && outbound !== undefined ? { outbound: socketText(outbound) } : {}),
    ...(!transparent && outboundHttp !== undefined ? { outboundHttp: socketText(outboundHttp) } : {}),
    ...(metrics === undefined ? {} : { metrics: socketText(metrics) }),
    ...(dns === undefined ? {} : { dns: socketText(dns) }),
  }
}

function trustOf({ roots, minVersion, maxVersion, cipherSuites, alpn }: TrustPart): PipyConfig['trust'] {
  const min = numberOf(minVersion) === 3 ? 3 : 2
  const max = maxVersion === 'TLS_AUTO' ? 3 : numberOf(maxVersion)
  return {
    roots,
    ...(max < min ? {} : { versions: { min: `TLS1.${min}`, max: max === 3 ? 'TLS1.3' : 'TLS1.2' } }),
    ciphers: cipherSuites.join(':'),
    alpn,
  }
}

/** The second number of a version; TLS 1.2 where the choice is the proxy's. */
function numberOf(version: TlsVersion): number {
  switch (version) {
    case 'TLSv1_0':
      return 0
    case 'TLSv1_1':
      return 1
    case 'TLS_AUTO':
    case 'TLSv1_2':
      return 2
    case 'TLSv1_3':
      return 3
  }
}
