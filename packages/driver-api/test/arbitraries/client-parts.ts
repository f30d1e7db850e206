import fc from 'fast-check'

import { compareCanonical, compareText, type PartOf } from '../../src/policy/index.js'
import {
  by,
  cidr,
  count,
  credentialRef,
  hash,
  host,
  identity,
  ip,
  jsonValue,
  name,
  port,
  sortedList,
} from './values.js'
import { outboundRoute, retryPolicy, routeMatch, targets } from './rules.js'

export const clientRulesPart: fc.Arbitrary<PartOf<'clientRules'>> = fc.record({
  kind: fc.constant('clientRules' as const),
  id: identity,
  retries: sortedList(fc.record({ outbound: name, policy: retryPolicy }), by('outbound')),
  preFilters: sortedList(
    fc.record({ outbound: name, allow: sortedList(routeMatch, compareCanonical) }),
    by('outbound'),
  ),
  egressCredentials: sortedList(fc.record({ egress: name, credential: credentialRef }), by('egress')),
  gateways: sortedList(
    fc.record({
      egress: fc.oneof(name, fc.constant('*')),
      mode: fc.constantFrom('http2tunnel' as const, 'socks5' as const),
      targets,
    }),
    by('egress'),
  ),
})

const someTargets = targets.filter((list) => list.length > 0)
export const egressPart: fc.Arbitrary<PartOf<'egress'>> = fc
  .record({
    id: name,
    port,
    what: fc.oneof(
      fc.record({
        protocol: fc.constant('http' as const),
        hosts: fc.oneof(sortedList(host, compareText, { minLength: 1 }), fc.constant(['*'])),
        routes: fc.array(outboundRoute, { minLength: 1, maxLength: 2 }),
      }),
      fc.record({
        protocol: fc.constant('https' as const),
        serverNames: sortedList(host, compareText, { minLength: 1 }),
        targets: someTargets,
      }),
      fc.record({
        protocol: fc.constantFrom('tcp' as const, 'tcp-server-first' as const),
        cidrs: sortedList(cidr, compareText),
        targets: someTargets,
      }),
    ),
  })
  .map(({ what, ...part }) => ({
    kind: 'egress' as const,
    ...part,
    hosts: [],
    serverNames: [],
    cidrs: [],
    routes: [],
    targets: [],
    ...what,
  }))

export const dnsPart: fc.Arbitrary<PartOf<'dns'>> = fc.record({
  kind: fc.constant('dns' as const),
  id: name,
  ttlSeconds: count,
  records: sortedList(fc.record({ name: host, addresses: sortedList(ip, compareText) }), by('name')),
  upstreamServers: fc.array(ip, { maxLength: 2 }),
})

export const extensionPart: fc.Arbitrary<PartOf<'extension'>> = fc.record({
  kind: fc.constant('extension' as const),
  id: name,
  class: name,
  type: name,
  value: jsonValue,
})

export const setPart: fc.Arbitrary<PartOf<'set'>> = fc.record({
  kind: fc.constant('set' as const),
  id: name,
  of: fc.constantFrom('outbound' as const, 'upstream' as const, 'endpoints' as const, 'egress' as const),
  members: sortedList(fc.record({ id: name, hash }), by('id')),
  sets: sortedList(
    fc.record({ id: name, hash, shortNames: fc.constant(true as const) }, { requiredKeys: ['id', 'hash'] }),
    by('id'),
  ),
})
