import { dialledPorts, type KindMap, portProtocol } from '@osm-ts/core'

/** A port that speaks HTTP. */
export interface HttpPort {
  readonly port: number
  readonly name: string | undefined
}

/** Ports of a Service that routes can be attached to. */
export function httpPorts(service: KindMap['Service']): readonly HttpPort[] {
  return dialledPorts(service).flatMap(({ port, name, appProtocol }) => {
    const { protocol } = portProtocol({ ...(name !== undefined && { name }), ...(appProtocol && { appProtocol }) })
    return ['http', 'http2', 'grpc'].includes(protocol) ? [{ port, name }] : []
  })
}
