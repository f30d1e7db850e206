import type { FeatureFlag, Kind, Problem } from '@osm-ts/core'

/** What happens to objects of a kind while their feature flag is off. */
interface FlagRule {
  readonly flag: FeatureFlag
  /** `deny`: OSM refused them as well. `warn`: they are kept and not read. */
  readonly off: 'deny' | 'warn'
}

/** Kinds that count only while a feature flag is on. */
export const flagRules: Readonly<Partial<Record<Kind, FlagRule>>> = Object.freeze({
  // OSM refused them as well. They are outside of namespaces, so that all meshes of a cluster review them, and what one has off another may use.
  Plugin: { flag: 'enablePluginPolicy', off: 'warn' },
  PluginChain: { flag: 'enablePluginPolicy', off: 'deny' },
  PluginConfig: { flag: 'enablePluginPolicy', off: 'deny' },
  AccessCert: { flag: 'enableAccessCertPolicy', off: 'deny' },
  AccessControl: { flag: 'enableAccessControlPolicy', off: 'warn' },
  Egress: { flag: 'enableEgressPolicy', off: 'warn' },
  IngressBackend: { flag: 'enableIngressBackendPolicy', off: 'warn' },
  Retry: { flag: 'enableRetryPolicy', off: 'warn' },
})

/** What OSM takes although it has no effect; users have such objects. */
const tolerated: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  TrafficTarget: ['OSM_SPEC_ACCOUNT', 'OSM_SPEC_TARGET_RULES', 'OSM_SPEC_ROUTE'],
  HTTPRouteGroup: ['OSM_SPEC_CONFLICT'],
  // OSM's documents name the gateway's certificate by its identity. No such certificate is issued, and every other setting must stay within reach.
  MeshConfig: ['OSM_SPEC_CERT_NAME'],
}

/** Which problems an object is refused for. */
export interface DenialOptions {
  /** False: a TrafficTarget in another namespace than its destination is let pass. */
  readonly validateTrafficTarget: boolean
}

/** True if an object is refused for a problem that nothing but the object itself can put right. */
export function isDenied(kind: Kind, { code, severity }: Problem, { validateTrafficTarget }: DenialOptions): boolean {
  if (severity !== 'error' || tolerated[kind]?.includes(code) === true) return false
  return code !== 'OSM_SPEC_TARGET_NAMESPACE' || validateTrafficTarget
}
