/**
 * Proof, made by the compiler alone, that each schema describes exactly the interface of its name. Nothing here runs.
 *
 * Assignability in both directions alone would not do: an optional member that only one side has is assignable both ways. So both sides are also
 * rebuilt member by member, read-only, and compared for identity.
 */
import type { Static, TSchema } from '@sinclair/typebox'

import type * as api from '../src/index.js'

type Rebuilt<T> = T extends string | number | boolean | null | undefined
  ? T
  : api.JsonValue extends T
    ? T
    : T extends readonly (infer Item)[]
      ? readonly Rebuilt<Item>[]
      : { readonly [Key in keyof T]: Rebuilt<T[Key]> }

type Identical<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

type Describes<Schema extends TSchema, Interface> = Identical<Rebuilt<Static<Schema>>, Rebuilt<Interface>>

type AssignableBothWays<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

type Proves<T extends true> = T

export type IdentityDistinguishes = [
  Proves<Identical<{ a?: string }, { a?: string }>>,
  // @ts-expect-error a missing optional member is a difference
  Proves<Identical<Rebuilt<{ a: string }>, Rebuilt<{ a: string; b?: string }>>>,
  // @ts-expect-error an optional member that may be undefined is a difference, which rebuilding hides
  Proves<AssignableBothWays<{ a?: string }, { a?: string | undefined }>>,
  // @ts-expect-error a brand is a difference
  Proves<Identical<Rebuilt<{ a: string }>, Rebuilt<{ a: api.PartHash }>>>,
]

type Schemas = typeof api.partSchemas

export type EveryKindHasItsSchema = Proves<Identical<keyof Schemas, api.PartKind>>

type Described = { readonly [Kind in api.PartKind]: Describes<Schemas[Kind], api.PartOf<Kind>> }
type Assignable = { readonly [Kind in api.PartKind]: AssignableBothWays<Static<Schemas[Kind]>, api.PartOf<Kind>> }
type Everywhere = Readonly<Record<api.PartKind, true>>

export type PartsAreDescribed = [Proves<Identical<Described, Everywhere>>, Proves<Identical<Assignable, Everywhere>>]

export type DocumentsAreDescribed = [
  Proves<Describes<typeof api.partRefSchema, api.PartRef>>,
  Proves<Describes<typeof api.policyUpdateSchema, api.PolicyUpdate>>,
  Proves<AssignableBothWays<Static<typeof api.partSchema>, api.Part>>,
  Proves<AssignableBothWays<Static<typeof api.proxyPolicySchema>, api.ProxyPolicy>>,
  Proves<Identical<keyof Static<typeof api.proxyPolicySchema>, keyof api.ProxyPolicy>>,
]

export type DriverDataIsDescribed = [
  Proves<Describes<typeof api.sidecarPatchSchema, api.SidecarPatch>>,
  Proves<Describes<typeof api.capabilitiesSchema, api.Capabilities>>,
  Proves<Describes<typeof api.healthProbesSchema, api.HealthProbes>>,
  Proves<Describes<typeof api.applyReportSchema, api.ApplyReport>>,
  Proves<AssignableBothWays<Static<typeof api.sidecarPatchSchema>, api.SidecarPatch>>,
  Proves<AssignableBothWays<Static<typeof api.capabilitiesSchema>, api.Capabilities>>,
  Proves<AssignableBothWays<Static<typeof api.healthProbesSchema>, api.HealthProbes>>,
  Proves<AssignableBothWays<Static<typeof api.applyReportSchema>, api.ApplyReport>>,
]
