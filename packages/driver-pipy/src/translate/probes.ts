import { compareCanonical, type ProbeBinding, type ProxyPart } from '@osm-ts/driver-api/policy'

import type { Probe } from '../config/types.js'
import { socketText } from './address.js'

/** Probes of a proxy's workload, in a fixed order. */
export function probesOf(proxy: ProxyPart): readonly Probe[] {
  const local = proxy.ipFamilies.includes('IPv4') ? '127.0.0.1' : '::1'
  return [...proxy.probes].sort(compareCanonical).map(({ listen, path, target, timeoutMs }) => ({
    listen: socketText(listen),
    path,
    type: target.type,
    target: socketText({ address: local, port: target.port }),
    targetPath: target.path ?? '/',
    headers: headersOf(target),
    timeoutMs,
  }))
}

function headersOf({ headers = [] }: ProbeBinding['target']): Probe['headers'] {
  return headers.map(({ name, value }) => [name, value] as const)
}
