import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { testdata } from './cases.js'
import { title, type Manifest } from './manifest.js'

/** What is compared: all objects, or those that differ from what the defaults render and the names of those that are not there. */
export function goldenText(rendered: readonly Manifest[], defaults?: readonly Manifest[]): string {
  const key = (manifest: Manifest) => `${manifest.metadata.namespace ?? ''}/${title(manifest)}`
  const known = new Map(defaults?.map((manifest) => [key(manifest), manifest]))
  const shown = rendered.filter((manifest) => !isDeepStrictEqual(manifest, known.get(key(manifest))))
  const keys = new Set(rendered.map(key))
  const missing = [...known.keys()].filter((name) => !keys.has(name)).map((name) => `# not rendered: ${name}\n`)
  // Longer lines than the longest value: a value that is folded is hard to compare.
  return [...missing.sort(), ...shown.map((manifest) => `---\n${stringify(manifest, { lineWidth: 0 })}`)].join('')
}

/** The stored text of a case; with UPDATE_GOLDEN=1 it becomes the given one. */
export function golden(name: string, text: string): string {
  const path = join(testdata, `${name}.golden.yaml`)
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, text)
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}
