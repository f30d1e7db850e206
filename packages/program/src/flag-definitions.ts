interface AnyFlag {
  /** What it decides, for `--help`. */
  readonly meaning: string
  /** The value is never repeated, neither in an error nor anywhere else. */
  readonly secret?: true
}

/** A flag of a program. Without a default it is required. */
export type FlagDefinition =
  | (AnyFlag & {
      readonly kind: 'text'
      readonly default?: string
      /** What the value has to look like; an empty default is left alone. */
      readonly form?: 'dns-label' | 'dns-subdomain' | 'dns-domain'
    })
  | (AnyFlag & { readonly kind: 'choice'; readonly values: readonly string[]; readonly default?: string })
  | (AnyFlag & { readonly kind: 'number'; readonly min: number; readonly max: number; readonly default?: number })
  | (AnyFlag & { readonly kind: 'switch'; readonly default: boolean })

/** Flags by their name without the leading hyphens. */
export type FlagDefinitions = Readonly<Record<string, FlagDefinition>>

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

type FlagValue<Definition extends FlagDefinition> = Definition extends {
  readonly kind: 'choice'
  readonly values: readonly (infer Value)[]
}
  ? Value
  : Definition extends { readonly kind: 'switch' }
    ? boolean
    : Definition extends { readonly kind: 'number' }
      ? number
      : string

/** Values of flags, by their names in camel case: `--mesh-name` is `meshName`. */
export type FlagValues<Definitions extends FlagDefinitions> = {
  readonly [Name in keyof Definitions & string as CamelCase<Name>]: FlagValue<Definitions[Name]>
}

/** `meshName` for `mesh-name`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_match, letter: string) => letter.toUpperCase())
}
