/** A value of JSON: what a client has seen of one exchange, free of times, addresses and port numbers of its own. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** One value of an exchange that is not the same beside the mesh and through it. */
export interface Difference {
  readonly exchange: string
  /** Keys and indexes that lead to it, joined by dots. */
  readonly path: string
  /** Undefined if there is none. */
  readonly beside: Json | undefined
  readonly through: Json | undefined
}

/** What a client has seen of a server, by exchange. */
export type Observations = Readonly<Record<string, Json>>

/** Every value that differs, in the order of exchanges. An exchange that is missing on one side differs as a whole. */
export function compareObservations(beside: Observations, through: Observations): readonly Difference[] {
  const names = [...new Set([...Object.keys(beside), ...Object.keys(through)])]
  return names.flatMap((exchange) =>
    differencesOf(beside[exchange], through[exchange]).map((difference) => ({ exchange, ...difference })),
  )
}

/** A difference as one line of a test's report. */
export function formatDifference({ exchange, path, beside, through }: Difference): string {
  const shown = (value: Json | undefined): string =>
    value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 200)
  return `${exchange}: ${path} is ${shown(beside)} beside the mesh and ${shown(through)} through it`
}

function differencesOf(
  beside: Json | undefined,
  through: Json | undefined,
  path: readonly string[] = [],
): readonly Omit<Difference, 'exchange'>[] {
  if (isBranch(beside) && isBranch(through) && Array.isArray(beside) === Array.isArray(through)) {
    const keys = [...new Set([...Object.keys(beside), ...Object.keys(through)])]
    return keys.flatMap((key) => differencesOf(childOf(beside, key), childOf(through, key), [...path, key]))
  }
  if (JSON.stringify(beside) === JSON.stringify(through)) return []
  return [{ path: path.join('.'), beside, through }]
}

type Branch = readonly Json[] | { readonly [key: string]: Json }

function isBranch(value: Json | undefined): value is Branch {
  return typeof value === 'object' && value !== null
}

function childOf(branch: Branch, key: string): Json | undefined {
  return Object.hasOwn(branch, key) ? (branch as { readonly [key: string]: Json })[key] : undefined
}
