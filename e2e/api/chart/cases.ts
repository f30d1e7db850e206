import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { chartFolder } from './render.js'

/** Where sets of values stand, and beside each what the chart renders from it. */
export const testdata = join(chartFolder, 'testdata')

/** Names of the sets of values. */
export const cases: readonly string[] = readdirSync(testdata)
  .filter((name) => name.endsWith('.values.yaml'))
  .map((name) => name.replace('.values.yaml', ''))
  .sort()

/** The file with the values of a set. */
export function valuesFile(name: string): string {
  return join(testdata, `${name}.values.yaml`)
}
