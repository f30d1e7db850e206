import fc from 'fast-check'

import { type Attempt } from './random-policy.js'
import { GATEWAY_API, anyService, numbered } from './random-names.js'
import { HTTP_PORT, TCP_PORT, clients, document, services } from './topology.js'

/* Random TCPRoutes and TLSRoutes of the Gateway API, with few names, so that several are attached to one port and have one server name. */

/** Servers speak first here: no TLSRoute leads to it, and TCPRoutes do. */
export const greeter = document('v1', 'Service', 'a/greeter', {
  spec: { selector: { app: 'web' }, ports: [{ name: 'tcp', port: TCP_PORT, appProtocol: 'tcp-server-first' }] },
})

const parent = fc.oneof(
  {
    weight: 15,
    arbitrary: fc
      .tuple(
        anyService('a/web', 'a/web', 'a/twin', 'a/both', 'a/both', 'b/store', 'b/store', 'a/words', 'a/bare'),
        fc.constantFrom({}, { port: TCP_PORT }, { sectionName: 'tcp' }),
      )
      .map(([service, at]) => ({ group: '', kind: 'Service', ...service, ...at })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<object[]>(
      { name: 'web' },
      { group: '', kind: 'Service', name: 'web', port: HTTP_PORT },
      { group: '', kind: 'Service', name: 'greeter', namespace: 'a' },
      { group: '', kind: 'Service', name: 'legacy', namespace: 'a' },
    ),
  },
)

const backend = fc
  .tuple(
    anyService('a/web', 'a/twin', 'a/both', 'b/store', 'b/store', 'a/words', 'a/bare'),
    fc.constantFrom<object[]>({}, {}, {}, { weight: 1 }, { weight: 3 }, { weight: 0 }),
    fc.oneof(
      { weight: 5, arbitrary: fc.constant({}) },
      {
        weight: 1,
        arbitrary: fc.constantFrom<object[]>(
          { namespace: 'a', name: 'hollow' },
          { namespace: 'a', name: 'greeter' },
          { namespace: 'a', name: 'none' },
          { namespace: 'a', name: 'legacy' },
          { group: 'example.com' },
          { port: HTTP_PORT },
          { port: 81 },
        ),
      },
    ),
  )
  .map(([service, weight, more]) => ({ ...service, port: TCP_PORT, ...weight, ...more }))

const hostnames = fc.uniqueArray(
  fc.constantFrom('shop.example', 'a.shop.example', '*.shop.example', '*.example', 'web.a', '*.a.shop.example'),
  { minLength: 1, maxLength: 3 },
)

const rest = fc.record({
  parentRefs: fc.array(parent, { minLength: 1, maxLength: 2 }),
  rules: fc.array(backend, { minLength: 1, maxLength: 3 }).map((backendRefs) => [{ backendRefs }]),
})

const tcpRoute = numbered(`${GATEWAY_API}/v1`, 'TCPRoute', { name: 'c', last: 3 }, rest)

const tlsRoute = numbered(
  `${GATEWAY_API}/v1`,
  'TLSRoute',
  { name: 's', last: 4 },
  fc.tuple(hostnames, rest).map(([names, spec]) => ({ ...spec, hostnames: names })),
)

/** TCPRoutes and TLSRoutes. */
export const anyConnectionRoutes: fc.Arbitrary<readonly string[]> = fc
  .tuple(fc.array(tcpRoute, { minLength: 1, maxLength: 4 }), fc.array(tlsRoute, { maxLength: 5 }))
  .map((lists) => lists.flat())

/** Connections to services that routes are attached to, some of them with TLS. */
export const anyRoutedConnection: fc.Arbitrary<Attempt> = fc
  .record({
    from: fc.constantFrom(...clients),
    to: fc.constantFrom('a/web', 'a/web', 'a/both', 'a/both', 'b/store', ...services),
    serverName: fc.constantFrom(
      undefined,
      undefined,
      '',
      'shop.example',
      'a.shop.example',
      'b.a.shop.example',
      'other.example',
      'Shop.Example',
      'web.a',
      'example',
      'other.test',
    ),
  })
  .map(({ serverName, ...ends }) => ({
    kind: 'tcp' as const,
    ...ends,
    ...(serverName === undefined ? {} : { serverName }),
  }))
