import { type DebugRequest, type DebugResponse, type ProxyPolicy, type ProxyUUID, collectPolicy } from '@osm-ts/driver-api'
import {
  type CertificateManager,
  type DriverHost,
  type MeshConfigurator,
  type PolicyComputation,
  type Problem,
  withoutSecrets,
} from '@osm-ts/core'

import { type DebugPage, jsonPage } from './http-servers.js'

/** What the controller's own debug pages show. */
export interface DebugSources {
  readonly host: DriverHost
  readonly computation: PolicyComputation
  readonly certificates: CertificateManager
  readonly configurator: MeshConfigurator
  readonly problems: () => readonly Problem[]
}

/** The controller's own debug pages, and those of the drivers. */
export function debugPages(sources: DebugSources): ReadonlyMap<string, DebugPage> {
  const own: Readonly<Record<string, DebugPage>> = {
    '/debug/status': async () => jsonPage({ proxies: sources.host.statuses() }),
    '/debug/policy': async (request) => policyPage(sources.computation, request),
    '/debug/problems': async () => jsonPage({ problems: sources.problems() }),
    '/debug/certs': async () => jsonPage(certificatesPage(sources.certificates)),
    '/debug/config': async () => jsonPage(withoutSecrets(sources.configurator.current())),
    '/debug/namespaces': async () => jsonPage({ namespaces: sources.computation.snapshot.namespaces() }),
    '/debug/feature-flags': async () => jsonPage(sources.configurator.current().featureFlags),
    '/debug/policies': async () => jsonPage(policiesPage(sources.computation)),
    '/debug/counters': async () => jsonPage(Object.fromEntries(sources.computation.counters())),
  }
  return new Map([...Object.entries(own), ...sources.host.debugHandlers])
}

function policyPage(computation: PolicyComputation, { query }: DebugRequest): DebugResponse {
  const uuid = query.uuid ?? ''
  const policy = computation.policyFor(uuid as ProxyUUID) // only looked up by it
  if (policy === undefined) return jsonPage({ error: `no proxy ${JSON.stringify(uuid)} has a policy; /debug/status lists the proxies` }, 404)
  const document: ProxyPolicy = collectPolicy(policy.part, (hash) => {
    const part = computation.parts.get(hash)
    if (part === undefined) throw new RangeError(`part ${hash} of a policy in force is not held`)
    return part
  })
  const origins = Object.fromEntries(
    Object.keys(document.parts).flatMap((hash) => {
      const found = computation.parts.find(hash as typeof document.version)?.origins // keys of parts are hashes
      return found === undefined || Object.keys(found).length === 0 ? [] : [[hash, found]]
    }),
  )
  return jsonPage({ ...document, origins })
}

/** Certificates without their keys: a certificate's own JSON form leaves them out. */
function certificatesPage(certificates: CertificateManager): unknown {
  return {
    roots: (['control-plane', 'workload'] as const).map((authority) => ({ authority, root: certificates.getRootCertificate(authority) })),
    certificates: certificates.listCertificates(),
  }
}

function policiesPage({ snapshot }: PolicyComputation): unknown {
  const kinds = ['TrafficTarget', 'HTTPRouteGroup', 'TCPRoute', 'TrafficSplit', 'Retry', 'Egress', 'IngressBackend', 'UpstreamTrafficSetting'] as const
  return Object.fromEntries(
    kinds.map((kind) => [kind, snapshot.list(kind).map(({ apiVersion, metadata, spec, origin }) => ({ apiVersion, metadata, spec, origin }))]),
  )
}
