import { dialledPorts, isHttp, type KindMap, portProtocol } from '@osm-ts/core'

/** A port that routes can be attached to. */
export interface RoutedPort {
  readonly port: number
  readonly name: string | undefined
}

/** Ports of a Service that routes of requests can be attached to. */
export function httpPorts(service: KindMap['Service']): readonly RoutedPort[] {
  return portsOf(service, true)
}

/** Ports of a Service that routes of connections can be attached to. */
export function bytePorts(service: KindMap['Service']): readonly RoutedPort[] {
  return portsOf(service, false)
}

/** The port of a backend that a TrafficSplit sends traffic of an apex's port to: that of the same number, else the one of the same name. */
export function fittingPort(candidates: readonly RoutedPort[], apex: RoutedPort): RoutedPort | undefined {
  return (
    candidates.find(({ port }) => port === apex.port) ??
    candidates.find(({ name }) => name !== undefined && name === apex.name)
  )
}

function portsOf(service: KindMap['Service'], speaksHttp: boolean): readonly RoutedPort[] {
  return dialledPorts(service).flatMap(({ port, name, appProtocol }) => {
    const { protocol } = portProtocol({ ...(name !== undefined && { name }), ...(appProtocol && { appProtocol }) })
    return isHttp(protocol) === speaksHttp ? [{ port, name }] : []
  })
}
