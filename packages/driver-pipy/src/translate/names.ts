import { isIPv4 } from 'node:net'

import type { ProxyPart } from '@osm-ts/driver-api/policy'

import type { PipyConfig } from '../config/types.js'
import { hostText } from './address.js'
import type { PolicyReader } from './policy-reader.js'

const DNS_PORT = 53

/** What the local DNS proxy answers. A server that is the proxy itself would be asked by its own answers forever. */
export function namesOf(proxy: ProxyPart, reader: PolicyReader): Pick<PipyConfig, 'dns'> {
  if (proxy.dns === undefined) return {}
  const { ttlSeconds, records, upstreamServers } = reader.part(proxy.dns, 'dns')
  return {
    dns: {
      ttlSeconds,
      records: records.map(({ name, addresses }) => ({ name, addresses: addresses.filter(isIPv4) })),
      servers: upstreamServers
        .filter((server) => server !== proxy.listen.dns?.address)
        .map((server) => hostText(server, DNS_PORT)),
    },
  }
}
