import type { ControllerContext, Driver } from '@osm-ts/driver-api'
import type { Part } from '@osm-ts/driver-api/policy'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

/** A driver that forgets which requests are allowed: anyone who may send one to a service may send all. The rest is as it should be. */
export function createDriver(): Driver {
  const envoy = createEnvoyDriver()
  return { ...envoy, name: 'permissive', start: (context) => envoy.start(withoutRules(context)) }
}

function withoutRules(context: ControllerContext): ControllerContext {
  const { parts, policies } = context.meshCatalog
  return {
    ...context,
    meshCatalog: { policies, parts: { get: async (hash) => withoutAccessRules(await parts.get(hash)) } },
  }
}

function withoutAccessRules(part: Part): Part {
  if (part.kind !== 'inbound' || part.rules.kind !== 'http') return part
  return { ...part, rules: { ...part.rules, allow: part.rules.allow.map(({ allow }) => ({ match: {}, allow })) } }
}
