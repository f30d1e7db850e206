import type { InstanceProbeBinding } from '@osm-ts/core'

import type { Container, Probe } from '../pod/pod.js'

/** What a probe asks the workload, or why the sidecar has no part in it. */
export type ProbeQuestion =
  | { readonly kind: 'asks'; readonly target: InstanceProbeBinding['target'] }
  | { readonly kind: 'stays'; readonly reason: string }

const PORT = /^[1-9][0-9]{0,4}$/

type HttpHandler = NonNullable<Probe['httpGet']>
/** A port as Kubernetes writes it: its number, or the name of one of the container's own. */
type WrittenPort = HttpHandler['port']

/** Reads a probe as a kubelet does. */
export function probeQuestion({ httpGet, tcpSocket, grpc }: Probe, container: Container): ProbeQuestion {
  if (httpGet !== undefined) return httpQuestion(httpGet, container)
  if (tcpSocket !== undefined) return elsewhere(tcpSocket) ?? asks('tcp', tcpSocket, container)
  if (grpc !== undefined) {
    const { service = '' } = grpc
    return asks('grpc', grpc, container, service === '' ? {} : { service })
  }
  return { kind: 'stays', reason: 'it runs in the container' }
}

function httpQuestion(httpGet: HttpHandler, container: Container): ProbeQuestion {
  const { path = '', scheme = '' } = httpGet
  // A kubelet puts the slash in as well.
  const absolute = path.startsWith('/') ? path : `/${path}`
  const type = scheme.toUpperCase() === 'HTTPS' ? 'https' : 'http'
  return elsewhere(httpGet) ?? asks(type, httpGet, container, { path: absolute })
}

function asks(
  type: InstanceProbeBinding['target']['type'],
  { port: written }: { readonly port?: NonNullable<WrittenPort> },
  container: Container,
  more: { readonly path?: string; readonly service?: string } = {},
): ProbeQuestion {
  const port = portNumber(written, container)
  if (port !== undefined) return { kind: 'asks', target: { type, port, ...more } }
  return { kind: 'stays', reason: `its port ${JSON.stringify(written ?? null)} is not a port of the container` }
}

/** A kubelet then asks that host, whatever it is, and not the pod. */
function elsewhere({ host = '' }: { readonly host?: string }): ProbeQuestion | undefined {
  return host === '' ? undefined : { kind: 'stays', reason: `it goes to host ${JSON.stringify(host)}` }
}

/** The number of a port given by number or name. */
export function portNumber(written: WrittenPort, { ports = [] }: Container): number | undefined {
  const named = (name: string): number | undefined => ports.find((port) => port.name === name)?.containerPort
  const value =
    typeof written === 'string' ? (named(written) ?? (PORT.test(written) ? Number(written) : undefined)) : written
  return value !== undefined && Number.isInteger(value) && value >= 1 && value <= 65535 ? value : undefined
}
