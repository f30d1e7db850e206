import { appendFileSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { checkCustomResources } from './gen-crds.mjs'
import { fieldOrigins, originOf } from './lib/field-origins.mjs'
import { root } from './lib/paths.mjs'
import { temporaryFolders } from './testing/temporary-folder.js'

const folder = temporaryFolders()
const definitions = 'packages/bootstrap/crds'
const page = 'docs/reference/crds.md'
const retries = `${definitions}/retries.policy.openservicemesh.io.yaml`

describe('files derived from the schemas', () => {
  it('are written, compared, and written again where they differ', async () => {
    const base = folder()
    expect(await checkCustomResources({ fix: false, base })).toContain(
      `${page} differs from the schemas in packages/core/src/spec`,
    )
    expect(await checkCustomResources({ fix: true, base })).toEqual([])
    expect(await checkCustomResources({ fix: false, base })).toEqual([])
    expect(readdirSync(join(base, definitions))).toHaveLength(23)

    appendFileSync(join(base, retries), '# by hand\n')
    const stray = `${definitions}/gone.yaml`
    writeFileSync(join(base, stray), '')
    expect(await checkCustomResources({ fix: false, base })).toEqual([
      `${retries} differs from the schemas in packages/core/src/spec`,
      `${stray} belongs to no kind of the mesh`,
    ])
    expect(await checkCustomResources({ fix: true, base })).toEqual([])
    expect(readFileSync(join(base, retries), 'utf8')).not.toContain('by hand')
    expect(existsSync(join(base, stray))).toBe(false)
  })

  it('mean to readers of YAML 1.1 what they mean to others', () => {
    const text = readFileSync(join(root, definitions, 'meshconfigs.config.openservicemesh.io.yaml'), 'utf8')
    expect(text).toContain('- "off"\n')
  })

  it('are those that are committed', async () => {
    expect(await checkCustomResources({ fix: false })).toEqual([])
  })
})

const text = readFileSync(join(root, page), 'utf8')
const rowsOf = (kind: string): readonly string[] => {
  const section = text.slice(text.indexOf(`\n## ${kind}\n`)).slice(1)
  const end = section.indexOf('\n## ')
  return (end < 0 ? section : section.slice(0, end)).split('\n').filter((line) => line.startsWith('| `'))
}

describe('the page of custom resources', () => {
  it.each([
    ['Retry', '| `retryPolicy.numRetries` \\* | integer 0–4294967295 | – | Maximum number of retries. | OSM |'],
    [
      'AccessCert',
      '| `subjectAltNames` \\* | list of string, exactly 1 | – | The name in the certificate. | osm-edge |',
    ],
    ['ServiceImport', '| `ports[].protocol` | string | `"TCP"`, stored | Transport protocol. | osm-edge |'],
    ['TrafficTarget', '| `sources` | list of object | `[]` | Allowed identities. | OSM |'],
  ])('shows type, default, meaning and origin of a field of %s', (kind, row) => {
    expect(rowsOf(kind)).toContain(row)
  })

  it('has the status that is common to all, and what a kind has besides', () => {
    expect(rowsOf('Status').join('\n')).toContain('`status.conditions[].reason`')
    expect(rowsOf('ServiceImport').join('\n')).toContain('`status.clusters[].addresses`')
    expect(rowsOf('Retry').join('\n')).not.toContain('status.')
  })
})

describe('the origin of a field', () => {
  it('is told of fields that there are', () => {
    const named = Object.entries(fieldOrigins).flatMap(([kind, origins]) =>
      Object.keys(origins).flatMap((path) => (path === '' ? [] : [{ kind, path }])),
    )
    const unknown = named.filter(({ kind, path }) => !rowsOf(kind).some((row) => row.startsWith(`| \`${path}\``)))
    expect(unknown).toEqual([])
  })

  it.each([
    ['Retry', 'source', 'OSM'],
    ['Plugin', 'priority', 'osm-edge'],
    ['MeshConfig', 'sidecar.sidecarDrivers[].sidecarName', 'osm-edge'],
    ['MeshConfig', 'sidecar.sidecarDrivers[].config', 'osm-ts'],
    ['MeshConfig', 'sidecar.logLevel', 'OSM'],
    ['UpstreamTrafficSetting', 'rateLimit.global.http.domain', 'OSM after 1.2'],
  ])('%s %s is %s', (kind, path, origin) => {
    expect(originOf(kind, path)).toBe(origin)
  })
})
