import type { MeshObject } from './objects.js'

/** Annotation of a Service: how its workloads, as egress gateways, are told where a connection is to go. */
export const EGRESS_GATEWAY_MODE = 'openservicemesh.io/egress-gateway-mode'

/** How an egress gateway is told where a connection is to go. */
export type EgressGatewayMode = 'http2tunnel' | 'socks5'

/** `sock5` is how osm-edge spells it. */
const modes: Readonly<Record<string, EgressGatewayMode>> = {
  http2tunnel: 'http2tunnel',
  sock5: 'socks5',
  socks5: 'socks5',
}

/** The mode of a gateway, HTTP/2 tunnels if it says nothing; undefined if it says what the mesh does not know. */
export function egressGatewayMode({ metadata }: MeshObject<'Service'>): EgressGatewayMode | undefined {
  const written = metadata.annotations[EGRESS_GATEWAY_MODE] ?? 'http2tunnel'
  return Object.hasOwn(modes, written) ? modes[written] : undefined
}
