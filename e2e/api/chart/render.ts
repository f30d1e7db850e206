import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { Manifest } from './manifest.js'

/** The chart of this repository. */
export const chartFolder = new URL('../../../charts/osm', import.meta.url).pathname

/** Values to render with: a file, or what is in one. */
export type Values = string | Readonly<Record<string, unknown>>

/** How a helm command ended. */
export interface HelmResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the real helm, without a cluster. */
export function helm(args: readonly string[], values: Values = {}): HelmResult {
  const { HELM_BIN: binary = 'helm' } = process.env
  const home = mkdtempSync(join(tmpdir(), 'osm-ts-helm-'))
  try {
    const file = typeof values === 'string' ? values : join(home, 'values.json')
    if (typeof values !== 'string') writeFileSync(file, JSON.stringify(values))
    const homes = { HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home }
    const { status, stdout, stderr, error } = spawnSync(binary, [...args, '--values', file], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      env: { PATH: process.env.PATH, HOME: home, ...homes },
    })
    if (error !== undefined) throw error
    return { code: status ?? -1, stdout, stderr }
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** What `helm template` prints, tests and hooks included. */
export function template(values: Values, ...args: readonly string[]): HelmResult {
  return helm(
    ['template', 'osm', chartFolder, '--namespace', 'osm-system', '--kube-version', '1.34.4', ...args],
    values,
  )
}

/** The objects that the chart renders. */
export function render(values: Values, ...args: readonly string[]): readonly Manifest[] {
  const { code, stdout, stderr } = template(values, ...args)
  if (code !== 0) throw new Error(stderr)
  return parse(stdout)
}

/** The objects of a text of YAML documents. */
function parse(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [fault] = document.errors
    if (fault !== undefined) throw fault
    const value = document.toJS() as Manifest | null
    return value === null ? [] : [value]
  })
}
