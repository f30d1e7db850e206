import { describe, expect, it } from '@jest/globals'
import type { Static, TSchema } from '@sinclair/typebox'

import * as contract from '../index.js'
import * as policy from '../policy/index.js'

// The compiler proves that each schema describes exactly the interface of its name. Assignability in both directions alone would not do: an optional
// member that only one side has is assignable both ways. So both sides are also rebuilt member by member, read-only, and compared for identity.

type Rebuilt<T> = T extends string | number | boolean | null | undefined
  ? T
  : policy.JsonValue extends T
    ? T
    : T extends readonly (infer Item)[]
      ? readonly Rebuilt<Item>[]
      : { readonly [Key in keyof T]: Rebuilt<T[Key]> }

type Identical<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

type AssignableBothWays<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

type Both<A extends boolean, B extends boolean> = A extends true ? B : false

type Describes<Schema extends TSchema, Interface> = Both<
  AssignableBothWays<Static<Schema>, Interface>,
  Identical<Rebuilt<Static<Schema>>, Rebuilt<Interface>>
>

/** The type if the comparison tells apart what it must, else nothing: a proof by a comparison that always says yes would be none. */
type IfComparisonHolds<T> = [
  Identical<Rebuilt<{ a?: string }>, Rebuilt<{ readonly a?: string }>>,
  Identical<Rebuilt<{ a: string }>, Rebuilt<{ a: string; b?: string }>>,
  AssignableBothWays<{ a?: string }, { a?: string | undefined }>,
  Identical<Rebuilt<{ a: string }>, Rebuilt<{ a: policy.PartHash }>>,
] extends [true, false, false, false]
  ? T
  : never

type Schemas = typeof policy.partSchemas

/** A proof for each kind of part. */
const parts: { readonly [Kind in policy.PartKind]: Describes<Schemas[Kind], policy.PartOf<Kind>> } = {
  proxy: true,
  trust: true,
  mesh: true,
  principals: true,
  inbound: true,
  ingress: true,
  outbound: true,
  upstream: true,
  endpoints: true,
  clientRules: true,
  egress: true,
  dns: true,
  extension: true,
  set: true,
}

interface Proofs {
  readonly partSchemas: Identical<keyof Schemas, policy.PartKind>
  // What these two are made of is proved above, kind by kind.
  readonly partSchema: AssignableBothWays<Static<typeof policy.partSchema>, policy.Part>
  readonly proxyPolicySchema: AssignableBothWays<Static<typeof policy.proxyPolicySchema>, policy.ProxyPolicy>
  readonly partRefSchema: Describes<typeof policy.partRefSchema, policy.PartRef>
  readonly policyUpdateSchema: Describes<typeof policy.policyUpdateSchema, policy.PolicyUpdate>
  readonly sidecarPatchSchema: Describes<typeof contract.sidecarPatchSchema, contract.SidecarPatch>
  readonly resourcesSchema: Describes<typeof contract.resourcesSchema, contract.Resources>
  readonly capabilitiesSchema: Describes<typeof contract.capabilitiesSchema, contract.Capabilities>
  readonly healthProbesSchema: Describes<typeof contract.healthProbesSchema, contract.HealthProbes>
  readonly applyReportSchema: Describes<typeof contract.applyReportSchema, contract.ApplyReport>
  readonly proxyObservationSchema: Describes<typeof contract.proxyObservationSchema, contract.ProxyObservation>
}

/** A proof for each schema that the package gives away. */
const schemas: IfComparisonHolds<Proofs> = {
  partSchemas: true,
  partSchema: true,
  proxyPolicySchema: true,
  partRefSchema: true,
  policyUpdateSchema: true,
  sidecarPatchSchema: true,
  resourcesSchema: true,
  capabilitiesSchema: true,
  healthProbesSchema: true,
  applyReportSchema: true,
  proxyObservationSchema: true,
}

describe('schemas and interfaces', () => {
  it('are proved to be the same, every one', () => {
    expect(Object.keys(parts).sort()).toEqual(Object.keys(policy.partSchemas).sort())
    const given = Object.keys({ ...contract, ...policy }).filter((name) => /Schemas?$/.test(name))
    expect(Object.keys(schemas).sort()).toEqual(given.sort())
  })
})
