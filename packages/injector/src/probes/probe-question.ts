import type { InstanceProbeBinding } from '@osm-ts/core'

import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '../json/json.js'

/** What a probe asks the workload, or why the sidecar has no part in it. */
export type ProbeQuestion =
  | { readonly kind: 'asks'; readonly target: InstanceProbeBinding['target'] }
  | { readonly kind: 'stays'; readonly reason: string }

const PORT = /^[1-9][0-9]{0,4}$/

/** Reads a probe as a kubelet does. */
export function probeQuestion(probe: JsonObject, container: JsonObject): ProbeQuestion {
  if (isObject(probe.httpGet)) return httpQuestion(probe.httpGet, container)
  if (isObject(probe.tcpSocket)) {
    const { tcpSocket } = probe
    return elsewhere(tcpSocket) ?? asks('tcp', tcpSocket, container)
  }
  if (isObject(probe.grpc)) {
    const service = textOf(probe.grpc.service)
    return asks('grpc', probe.grpc, container, service === '' ? {} : { service })
  }
  return { kind: 'stays', reason: 'it runs in the container' }
}

function httpQuestion(httpGet: JsonObject, container: JsonObject): ProbeQuestion {
  const path = textOf(httpGet.path)
  // A kubelet puts the slash in as well.
  const absolute = path.startsWith('/') ? path : `/${path}`
  const type = textOf(httpGet.scheme).toUpperCase() === 'HTTPS' ? 'https' : 'http'
  return elsewhere(httpGet) ?? asks(type, httpGet, container, { path: absolute })
}

function asks(
  type: InstanceProbeBinding['target']['type'],
  { port: written = null }: JsonObject,
  container: JsonObject,
  more: { readonly path?: string; readonly service?: string } = {},
): ProbeQuestion {
  const port = portNumber(written, container)
  if (port !== undefined) return { kind: 'asks', target: { type, port, ...more } }
  return { kind: 'stays', reason: `its port ${JSON.stringify(written)} is no port of the container` }
}

/** A kubelet then asks that host, whatever it is, and not the pod. */
function elsewhere({ host }: JsonObject): ProbeQuestion | undefined {
  return textOf(host) === '' ? undefined : { kind: 'stays', reason: `it goes to host ${JSON.stringify(host)}` }
}

/** The number of a port given by number or name; names are those of the container's own ports. */
export function portNumber(written: JsonObject[string], container: JsonObject): number | undefined {
  const named = (name: string): JsonObject[string] | undefined =>
    objectsOf(container.ports).find((port) => objectOf(port).name === name)?.containerPort
  const value =
    typeof written === 'string' ? (named(written) ?? (PORT.test(written) ? Number(written) : undefined)) : written
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535 ? value : undefined
}
