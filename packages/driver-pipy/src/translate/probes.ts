import { compareCanonical, type ProbeBinding, type ProxyPart, refOf, hashPart } from '@osm-ts/driver-api'

import type { Probe } from '../config/types.js'
import { socketText } from './address.js'
import type { PolicyReader } from './read-policy.js'

/** Probes of a proxy's workload, in a fixed order. */
export function probesOf(proxy: ProxyPart, reader: PolicyReader): readonly Probe[] {
  const local = proxy.ipFamilies.includes('IPv4') ? '127.0.0.1' : '::1'
  return [...proxy.probes].sort(compareCanonical).flatMap((binding) => {
    const { listen, path, target, timeoutMs } = binding
    if (target.type === 'grpc') {
      const index = proxy.probes.indexOf(binding)
      reader.refuse(
        refOf(proxy, hashPart(proxy)),
        `/probes/${index}`,
        'class pipy asks no workload for its health by gRPC',
      )
      return []
    }
    return [
      {
        listen: socketText(listen),
        path,
        type: target.type,
        target: socketText({ address: local, port: target.port }),
        targetPath: target.path ?? '/',
        headers: headersOf(target),
        timeoutMs,
      },
    ]
  })
}

function headersOf({ headers = [] }: ProbeBinding['target']): Probe['headers'] {
  return headers.map(({ name, value }) => [name, value] as const)
}
