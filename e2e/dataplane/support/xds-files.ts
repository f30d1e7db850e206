import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A JSON object as it comes out of a file. */
export type Json = Readonly<Record<string, unknown>>

/** Resources in protobuf JSON, by type and name. */
export type ResourceJson = Readonly<
  Record<'cluster' | 'endpoints' | 'listener' | 'extension' | 'route' | 'callers', Readonly<Record<string, Json>>>
>

/** Certificates that resources ask for. */
export interface TestSecrets {
  readonly chain: string
  readonly privateKey: string
  readonly roots: string
}

const typeUrls = {
  cluster: 'envoy.config.cluster.v3.Cluster',
  endpoints: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
  listener: 'envoy.config.listener.v3.Listener',
  extension: 'envoy.config.core.v3.TypedExtensionConfig',
  route: 'envoy.config.route.v3.RouteConfiguration',
  secret: 'envoy.extensions.transport_sockets.tls.v3.Secret',
} as const

/**
 * Writes resources as files that an Envoy reads in place of a control plane, and returns its bootstrap configuration.
 *
 * Nothing but transport is changed: where the configuration comes from, and ports, so that the test needs none that another program has.
 */
export function writeXdsFiles(folder: string, resources: ResourceJson, secrets: TestSecrets): Json {
  let files = 0
  const write = (type: keyof typeof typeUrls, list: readonly Json[]): string => {
    const path = join(folder, `${type}-${(files += 1)}.json`)
    const packed = list.map((resource) => ({ '@type': `type.googleapis.com/${typeUrls[type]}`, ...resource }))
    writeFileSync(path, JSON.stringify({ versionInfo: '1', resources: packed }))
    return path
  }
  const source = (path: string): Json => ({ pathConfigSource: { path }, resourceApiVersion: 'V3' })
  const one = (type: 'endpoints' | 'extension' | 'route', name: unknown): Json => {
    const resource = resources[type][String(name)]
    if (resource === undefined) throw new Error(`${type} ${String(name)} is asked for and does not exist`)
    return source(write(type, [redirected(resource)]))
  }
  const secret = (name: unknown): Json =>
    source(write('secret', [secretNamed(String(name), secrets, resources.callers)]))
  const redirected = (value: Json, cluster?: unknown): Json =>
    Object.fromEntries(
      Object.entries(value).map(([member, inner]): [string, unknown] => {
        if (member === 'edsConfig') return [member, one('endpoints', cluster)]
        if (member === 'configDiscovery' && isObject(inner))
          return [member, { ...inner, configSource: one('extension', value.name) }]
        if (member === 'sdsConfig') return [member, secret(value.name)]
        if (member === 'configSource' && 'routeConfigName' in value)
          return [member, one('route', value.routeConfigName)]
        return [member, redirect(inner, value.name ?? cluster)]
      }),
    )
  const redirect = (value: unknown, cluster: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item: unknown) => redirect(item, cluster))
    return isObject(value) ? redirected(value, cluster) : value
  }
  const all = (type: 'cluster' | 'listener'): readonly Json[] =>
    Object.values(resources[type]).map((item) => redirected(item))
  return {
    node: { id: 'golden', cluster: 'golden' },
    bootstrapExtensions: [
      {
        name: 'envoy.bootstrap.internal_listener',
        typedConfig: {
          '@type': 'type.googleapis.com/envoy.extensions.bootstrap.internal_listener.v3.InternalListener',
        },
      },
    ],
    admin: { address: { socketAddress: { address: '127.0.0.1', portValue: 0 } } },
    dynamicResources: {
      cdsConfig: source(write('cluster', all('cluster'))),
      ldsConfig: source(write('listener', all('listener').map(anywhere))),
    },
    layeredRuntime: { layers: [{ name: 'mesh', staticLayer: { 're2.max_program_size.error_level': 4096 } }] },
  }
}

/** The listener at ports that happen to be free. */
function anywhere(listener: Json): Json {
  const { address, additionalAddresses, ...rest } = listener
  const free = (value: unknown): unknown => {
    if (!isObject(value) || !isObject(value.socketAddress)) return value
    return { socketAddress: { ...value.socketAddress, portValue: 0 } }
  }
  const others = Array.isArray(additionalAddresses) ? additionalAddresses : []
  return {
    ...rest,
    address: free(address),
    additionalAddresses: others.map((other: unknown) => (isObject(other) ? { address: free(other.address) } : other)),
  }
}

function secretNamed(
  name: string,
  { chain, privateKey, roots }: TestSecrets,
  callers: Readonly<Record<string, Json>>,
): Json {
  if (name === 'service-cert' || name.startsWith('egress-cert|')) {
    return {
      name,
      tlsCertificate: { certificateChain: { inlineString: chain }, privateKey: { inlineString: privateKey } },
    }
  }
  const expected = callers[name]?.validationContext
  return { name, validationContext: { ...(isObject(expected) && expected), trustedCa: { inlineString: roots } } }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
