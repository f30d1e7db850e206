import { fromBinary } from '@bufbuild/protobuf'
import { Cluster_DiscoveryType, ClusterSchema } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { TypedExtensionConfigSchema } from '@osm-ts/envoy-api/envoy/config/core/v3/extension_pb.js'
import { ListenerSchema } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'
import { HttpConnectionManagerSchema } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import {
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'

const CONFIG = 'type.googleapis.com/envoy.config.'
export const CLUSTER = `${CONFIG}cluster.v3.Cluster`
export const ENDPOINTS = `${CONFIG}endpoint.v3.ClusterLoadAssignment`
export const LISTENER = `${CONFIG}listener.v3.Listener`
export const EXTENSION = `${CONFIG}core.v3.TypedExtensionConfig`
export const ROUTES = `${CONFIG}route.v3.RouteConfiguration`
export const SECRET = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'

/** Names of resources that another one refers to. */
export interface References {
  readonly endpoints: readonly string[]
  readonly extensions: readonly string[]
  readonly routes: readonly string[]
  readonly secrets: readonly string[]
}

const none: References = { endpoints: [], extensions: [], routes: [], secrets: [] }

interface AnyMessage {
  readonly typeUrl: string
  readonly value: Uint8Array
}

/** Reads what clusters, listeners and extensions refer to; equal bytes are read once, whichever proxy has them. */
export class ReferenceReader {
  readonly #known = new Map<string, References>()

  of(typeUrl: string, value: Uint8Array): References {
    const read = readers[typeUrl]
    if (read === undefined) return none
    const key = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const found = { ...none, ...read(value) }
    this.#known.set(key, found)
    return found
  }
}

const readers: Readonly<Record<string, (value: Uint8Array) => Partial<References>>> = {
  [CLUSTER]: ofCluster,
  [LISTENER]: ofListener,
  [EXTENSION]: ofExtension,
}

function ofCluster(value: Uint8Array): Partial<References> {
  const { name, clusterDiscoveryType, edsClusterConfig, transportSocket } = fromBinary(ClusterSchema, value)
  const isEds = clusterDiscoveryType.case === 'type' && clusterDiscoveryType.value === Cluster_DiscoveryType.EDS
  const config = transportSocket?.configType
  return {
    endpoints: isEds ? [edsClusterConfig?.serviceName || name] : [],
    secrets: config?.case === 'typedConfig' ? secretsOf(config.value) : [],
  }
}

function ofListener(value: Uint8Array): Partial<References> {
  const { filterChains, defaultFilterChain } = fromBinary(ListenerSchema, value)
  const chains = defaultFilterChain === undefined ? filterChains : [...filterChains, defaultFilterChain]
  const filters = chains.flatMap((chain) => chain.filters)
  const routes = filters.flatMap(({ configType }) =>
    configType.case === 'typedConfig' ? routesOf(configType.value) : [],
  )
  const extensions = filters.flatMap(({ name, configType }) => (configType.case === 'configDiscovery' ? [name] : []))
  const secrets = chains.flatMap(({ transportSocket }) => {
    const config = transportSocket?.configType
    return config?.case === 'typedConfig' ? secretsOf(config.value) : []
  })
  return { extensions: [...new Set(extensions)], routes: [...new Set(routes)], secrets: [...new Set(secrets)] }
}

function ofExtension(value: Uint8Array): Partial<References> {
  const { typedConfig } = fromBinary(TypedExtensionConfigSchema, value)
  return { routes: typedConfig === undefined ? [] : routesOf(typedConfig) }
}

function routesOf({ typeUrl, value }: AnyMessage): readonly string[] {
  if (!typeUrl.endsWith('.HttpConnectionManager')) return []
  const { routeSpecifier } = fromBinary(HttpConnectionManagerSchema, value)
  return routeSpecifier.case === 'rds' ? [routeSpecifier.value.routeConfigName] : []
}

function secretsOf({ typeUrl, value }: AnyMessage): readonly string[] {
  const tls = typeUrl.endsWith('.UpstreamTlsContext')
    ? fromBinary(UpstreamTlsContextSchema, value).commonTlsContext
    : typeUrl.endsWith('.DownstreamTlsContext')
      ? fromBinary(DownstreamTlsContextSchema, value).commonTlsContext
      : undefined
  if (tls === undefined) return []
  const own = tls.tlsCertificateSdsSecretConfigs.map(({ name }) => name)
  const { validationContextType: validation } = tls
  if (validation.case === 'validationContextSdsSecretConfig') return [...own, validation.value.name]
  if (validation.case !== 'combinedValidationContext') return own
  return [...own, validation.value.validationContextSdsSecretConfig?.name ?? ''].filter((name) => name !== '')
}
