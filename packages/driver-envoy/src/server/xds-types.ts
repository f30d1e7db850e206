import type { TranslatedType } from '../resources/types.js'

/** The xDS types that this server speaks. Secrets never come from translation. */
export type XdsType = TranslatedType | 'secret'

/**
 * The order in which types are pushed when several are due: what is referred to goes before what refers to it. Secrets come last because nothing
 * waits for their turn; they are sent when requested or when they rotate.
 */
export const pushOrder = [
  'cluster',
  'endpoints',
  'listener',
  'extension',
  'route',
  'secret',
] as const satisfies readonly XdsType[]

/** Type URLs as they are in requests, responses and `google.protobuf.Any`. */
export const typeUrls: Readonly<Record<XdsType, string>> = {
  cluster: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  endpoints: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
  listener: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  extension: 'type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig',
  route: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
  secret: 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret',
}

/** The type of a URL; undefined for one that this server does not serve. */
export function xdsTypeOf(typeUrl: string): XdsType | undefined {
  return pushOrder.find((type) => typeUrls[type] === typeUrl)
}
