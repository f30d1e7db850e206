import fc from 'fast-check'

import { type Qualified, ref } from '../yaml.js'
import { document } from './topology.js'

export const GATEWAY_API = 'gateway.networking.k8s.io'
const SMI_ROUTES = 'specs.smi-spec.io/v1alpha4'

/** Of what random objects are in. */
export const namespace = fc.constantFrom('a', 'b')

/** Services by namespace and name: mostly those of the mesh. */
export const anyService = (...names: readonly Qualified[]) => fc.constantFrom(...names).map(ref)

/**
 * Documents of a kind. Few numbers let some have one name.
 *
 * @param name - what stands before the number
 */
export function numbered(
  apiVersion: string,
  kind: string,
  {
    home = namespace,
    name,
    last,
  }: { readonly home?: fc.Arbitrary<string>; readonly name: string; readonly last: number },
  spec: fc.Arbitrary<object>,
): fc.Arbitrary<string> {
  return fc
    .tuple(home, fc.nat(last), spec)
    .map(([where, number, said]) => document(apiVersion, kind, `${where}/${name}${number}`, { spec: said }))
}

/** HTTPRouteGroups `g0` and `g1`. */
export function routeGroups(match: fc.Arbitrary<object>, maxLength: number, home?: fc.Arbitrary<string>) {
  const spec = fc.record({ matches: fc.array(match, { minLength: 1, maxLength }) })
  return numbered(SMI_ROUTES, 'HTTPRouteGroup', { ...(home !== undefined && { home }), name: 'g', last: 1 }, spec)
}

/** What an object says of routes that it is about: nothing, or one or two groups, of which one does not exist. */
export const groupReferences = fc.oneof(
  fc.constant([]),
  fc.array(
    fc.constantFrom('g0', 'g1', 'none').map((name) => ({ apiGroup: SMI_ROUTES, kind: 'HTTPRouteGroup', name })),
    { minLength: 1, maxLength: 2 },
  ),
)

/** Matches of such groups, for requests of outside and to there. */
export const anyMatch = fc.record(
  {
    name: fc.constantFrom('m0', 'm1'),
    // Nothing that is not an expression: the last good version of such an object stays in force, and the oracle knows no earlier ones.
    pathRegex: fc.constantFrom('/a', '/a/.*', '.*', '/b', ''),
    methods: fc.constantFrom(['GET'], ['*'], ['POST'], []),
    headers: fc.constantFrom([{ 'x-user': 'r.*' }], [{ 'X-User': 'root' }, { 'x-user': 'rita' }], [{ 'a b': '.*' }]),
  },
  { requiredKeys: ['name'] },
)
