import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readChartValues, type ChartValue } from '../../tools/chart/values.mjs'
import { find, title, type Manifest } from './chart/manifest.js'
import { chartFolder, render, template } from './chart/render.js'
import {
  configured,
  effects,
  everywhere,
  refusedValues,
  synonyms,
  withoutEffect,
  type ConfiguredValue,
} from './chart/value-effects.js'

type Values = Readonly<Record<string, unknown>>

const isMap = (value: unknown): value is Values => value !== null && typeof value === 'object' && !Array.isArray(value)

/** Values with one more, given by its path. */
function including(values: Values, path: string, value: unknown): Values {
  const [key = '', ...rest] = path.split('.')
  const below = values[key]
  return { ...values, [key]: rest.length === 0 ? value : including(isMap(below) ? below : {}, rest.join('.'), value) }
}

const all = (entries: readonly (readonly [string, unknown])[]): Values =>
  entries.reduce<Values>((values, [path, value]) => including(values, path, value), {})

/** What was rendered, by the values: helm takes a moment. */
const rendered = new Map<string, readonly Manifest[]>()
function manifestsOf(values: Values): readonly Manifest[] {
  const key = JSON.stringify(values)
  const manifests = rendered.get(key) ?? render(values)
  rendered.set(key, manifests)
  return manifests
}

/** Texts of objects, by title. */
function textsOf(values: Values): ReadonlyMap<string, string> {
  return new Map(manifestsOf(values).map((manifest) => [title(manifest), JSON.stringify(manifest)]))
}

/** Titles of what two sets of values render differently. */
function differences(before: Values, after: Values): readonly string[] {
  const [old, now] = [textsOf(before), textsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name)).sort()
}

function presetField(values: Values, field: string): unknown {
  const { data } = find(manifestsOf(values), 'ConfigMap', 'preset-mesh-config')
  const preset: unknown = JSON.parse(data?.['preset-mesh-config.json'] ?? '')
  return field.split('.').reduce<unknown>((value, name) => (isMap(value) ? value[name] : undefined), preset)
}

const leavesOf = ({ path, children }: ChartValue): readonly string[] =>
  children.length === 0 ? [path] : children.flatMap(leavesOf)
const byPath = (values: readonly ConfiguredValue[]) => values.map((value) => [value.path, value] as const)

describe('each value of the chart', () => {
  it('is in one of the lists of this test', () => {
    const listed = [
      ...[...effects, ...configured, ...synonyms].map(({ path }) => path),
      ...Object.keys(withoutEffect),
      ...Object.keys(refusedValues),
      ...Object.values(everywhere),
    ]
    const values = readChartValues(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')).flatMap(leavesOf)
    expect([...listed].sort()).toEqual([...values].sort())
  })

  it.each(effects.map((effect) => [effect.path, effect] as const))(
    '%s changes what it is for, and nothing else',
    (path, { value, with: before = {}, changes, shows = [String(value)] }) => {
      const after = including(before, path, value)
      expect(differences(before, after)).toEqual([...changes].sort())
      for (const name of changes) {
        const text = textsOf(after).get(name)
        expect([name, text === undefined || shows.some((word) => text.includes(word))]).toEqual([name, true])
      }
    },
  )

  const configuration = all(configured.map(({ path, value }) => [path, value]))

  it.each(byPath(configured))('%s reaches the MeshConfig of a new mesh', (_path, { value, field }) => {
    expect(presetField(configuration, field)).toEqual(value)
    expect(presetField({}, field)).not.toEqual(value)
  })

  it('that reaches the MeshConfig reaches nothing else, but for ports of drivers', () => {
    const withoutPorts = all(
      configured.flatMap(({ path, value }) => (path === 'osm.sidecarDrivers' ? [] : [[path, value]])),
    )
    expect(differences({}, withoutPorts)).toEqual(['ConfigMap preset-mesh-config'])
  })

  it.each(byPath(synonyms))('%s, which OSM had, means what its other name means', (path, { value, field }) => {
    expect(presetField(including({}, path, value), field)).toEqual(value)
    expect(differences({}, including({}, path, value))).toEqual(['ConfigMap preset-mesh-config'])
  })

  it('that is listed as having no effect has none', () => {
    expect(differences({}, all(Object.entries(withoutEffect)))).toEqual([])
  })

  it.each(Object.entries(refusedValues))('%s is refused by name', (path, value) => {
    const { code, stderr } = template(including({}, path, value))
    expect([code, stderr]).toEqual([1, expect.stringContaining(path)])
  })

  it('osm.meshName names the mesh everywhere', () => {
    const manifests = render(including({}, everywhere.meshName, 'sample'))
    const named = manifests.filter(({ metadata }) => metadata.labels?.meshName !== undefined)
    expect(named.length).toBeGreaterThan(10)
    expect(named.map(({ metadata }) => metadata.labels?.meshName)).toEqual(named.map(() => 'sample'))
    expect(manifests.filter((manifest) => JSON.stringify(manifest).includes('--mesh-name=osm'))).toEqual([])
  })

  it('osm.osmNamespace is where everything goes', () => {
    const manifests = render(including({}, everywhere.osmNamespace, 'sample'))
    const namespaced = manifests.filter(({ metadata }: Manifest) => metadata.namespace !== undefined)
    expect(namespaced.length).toBeGreaterThan(10)
    expect(new Set(namespaced.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['sample']))
  })
})
