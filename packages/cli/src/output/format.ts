import { Option } from 'commander'

/** Forms in which most commands give their result. */
export type OutputForm = 'table' | 'json'

/** The `-o` option of a command that has these forms; the first is the default. */
export function outputOption(forms: readonly string[] = ['table', 'json'] satisfies OutputForm[]): Option {
  const [first] = forms
  return new Option('-o, --output <form>', 'output format').choices(forms).default(first)
}

/** A value as JSON for people and programs alike: what would steer a terminal is escaped. */
export function toJson(value: unknown): string {
  return `${escaped(JSON.stringify(value, undefined, 2))}\n`
}

/** As {@link toJson}, on one line. */
export function toJsonLine(value: unknown): string {
  return `${escaped(JSON.stringify(value))}\n`
}

/** JSON escapes control characters below U+0020 alone. The others can only be in its texts, where an escape stands for the same. */
function escaped(json: string): string {
  return json.replace(/[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

/** How long ago, in the largest unit that says something: 4s, 12m, 3h, 2d. */
export function formatAge(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** A share as a percentage without decimals, or with one where requested. */
export function formatPercent(share: number, decimals = 0): string {
  return `${(share * 100).toFixed(decimals)} %`
}

/** A duration in seconds with one decimal. */
export function formatSeconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
