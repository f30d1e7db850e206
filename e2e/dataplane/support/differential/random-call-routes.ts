import fc from 'fast-check'

import type { Attempt } from './random-policy.js'
import { GATEWAY_API, numbered } from './random-names.js'
import { backend, headerCondition, headers, mirror, ofBackend, parent } from './random-route-parts.js'
import { clients, services } from './topology.js'

const called = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      {
        type: fc.constant('Exact'),
        service: fc.constantFrom('shop.Books', 'shop.Books', 'shop.Carts', 'Books'),
        method: fc.constantFrom('Get', 'Get', 'List', 'get'),
      },
      { requiredKeys: [] },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        type: fc.constant('RegularExpression'),
        service: fc.constantFrom(String.raw`shop\..*`, '(?i)SHOP.books', 'shop.(Books|Carts)', '[a-z]+[.]Books', '('),
        method: fc.constantFrom('Get.*', '(Get|List)', '.+', 'G'),
      },
      { requiredKeys: ['type'] },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<object[]>({ service: 'shop-Books' }, { service: 'shop.Books', method: '1' }),
  },
)
const callRule = fc.record(
  {
    matches: fc.array(
      fc.record(
        { method: called, headers: fc.array(headerCondition, { minLength: 1, maxLength: 2 }) },
        { requiredKeys: [] },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    filters: fc.oneof(
      { weight: 3, arbitrary: fc.tuple(ofBackend) },
      { weight: 2, arbitrary: fc.tuple(mirror) },
      { weight: 1, arbitrary: fc.tuple(ofBackend, mirror) },
      { weight: 1, arbitrary: fc.constantFrom([{ type: 'URLRewrite', urlRewrite: {} }], [{ type: 'ExtensionRef' }]) },
    ),
    backendRefs: fc.array(backend, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['matches'] },
)

/** GRPCRoutes. */
export const grpcRoute = numbered(
  `${GATEWAY_API}/v1`,
  'GRPCRoute',
  { name: 'g', last: 3 },
  fc.record({
    parentRefs: fc.array(parent, { minLength: 1, maxLength: 2 }),
    rules: fc.array(callRule, { minLength: 1, maxLength: 4 }),
  }),
)

/** gRPC calls of services that routes are attached to: with the type of their content, which sidecars answer in the way of gRPC, and without. */
export const anyRoutedCall: fc.Arbitrary<Attempt> = fc
  .record({
    from: fc.constantFrom(...clients),
    to: fc.constantFrom('a/web', 'a/web', 'a/both', 'b/store', ...services),
    service: fc.constantFrom('shop.Books', 'shop.Books', 'shop.Carts', 'Books', 'shop.books'),
    method: fc.constantFrom('Get', 'Get', 'List', 'GetAll'),
    headers,
    isMarked: fc.boolean(),
  })
  .map(({ from, to, service, method, isMarked, ...request }) => ({
    kind: 'http' as const,
    from,
    to,
    request: {
      method: 'POST',
      target: `/${service}/${method}`,
      headers: [...request.headers, ...(isMarked ? [['content-type', 'application/grpc'] as const] : [])],
    },
  }))
