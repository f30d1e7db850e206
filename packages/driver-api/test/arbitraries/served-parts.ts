import fc from 'fast-check'

import { compareAllowRules, compareCanonical, compareText, type PartOf } from '../../src/policy/index.js'
import { cidr, hash, host, httpProtocol, meshService, name, port, protocol, sortedList, tcpProtocol } from './values.js'
import { externalAuthorization, rateLimits, routeLimits, routeMatch } from './rules.js'

const served = { service: meshService, port, targetPort: port }

export const inboundPart: fc.Arbitrary<PartOf<'inbound'>> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('inbound' as const),
      id: name,
      ...served,
      protocol: httpProtocol,
      serverNames: sortedList(host, compareText, { minLength: 1 }),
      rules: fc.record({
        kind: fc.constant('http' as const),
        hosts: sortedList(host, compareText),
        allow: sortedList(fc.record({ match: routeMatch, allow: hash }), compareAllowRules, { minLength: 1 }),
        routeLimits: fc.array(routeLimits, { maxLength: 2 }),
      }),
      rateLimits: rateLimits(true),
      externalAuthorization,
    },
    { requiredKeys: ['kind', 'id', 'service', 'port', 'targetPort', 'protocol', 'serverNames', 'rules'] },
  ),
  fc.record(
    {
      kind: fc.constant('inbound' as const),
      id: name,
      ...served,
      protocol: tcpProtocol,
      serverNames: sortedList(host, compareText, { minLength: 1 }),
      rules: fc.record({ kind: fc.constant('tcp' as const), allow: hash }),
      rateLimits: rateLimits(false),
    },
    { requiredKeys: ['kind', 'id', 'service', 'port', 'targetPort', 'protocol', 'serverNames', 'rules'] },
  ),
  fc.record({
    kind: fc.constant('inbound' as const),
    id: name,
    ...served,
    protocol,
    serverNames: sortedList(host, compareText, { minLength: 1 }),
    rules: fc.constant({ kind: 'deny' } as const),
  }),
)

export const ingressPart: fc.Arbitrary<PartOf<'ingress'>> = fc
  .record({
    id: name,
    ...served,
    protocol: httpProtocol,
    sources: sortedList(cidr, compareText, { minLength: 1 }),
    tls: fc.constantFrom('none' as const, 'tls' as const, 'mtls' as const),
    serverNames: sortedList(host, compareText),
    allow: hash,
    matches: sortedList(routeMatch, compareCanonical, { minLength: 1 }),
    routeLimits: fc.array(routeLimits, { maxLength: 2 }),
    optional: fc.record({ rateLimits: rateLimits(true), externalAuthorization }, { requiredKeys: [] }),
  })
  .map(({ allow, optional, serverNames, ...part }) => ({
    kind: 'ingress' as const,
    ...part,
    ...optional,
    serverNames: part.tls === 'none' ? [] : serverNames,
    ...(part.tls === 'mtls' ? { allow } : {}),
  }))
