import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { readChartValues } from '../../tools/chart/values.mjs'
import { otherValue } from './chart/other-value.js'
import { renderMany } from './chart/render-many.js'
import { chartFolder, template } from './chart/render.js'

type ChartValue = ReturnType<typeof readChartValues>[number]

/** Values whose other value the chart refuses. */
const refused = new Set([
  'osm.sidecarClass',
  'osm.driverPackages',
  'osm.repoServer.standalone',
  'osm.certificateProvider.kind',
  'osm.deployGrafana',
  'osm.enableFluentbit',
  'contour.enabled',
  'fsm.enabled',
])
const values = readChartValues(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')).flatMap(leaves)
const unused = values.filter(({ description }) => description.startsWith('Not used'))
const effective = values.filter((value) => !unused.includes(value) && !refused.has(value.path))

function leaves(value: ChartValue): readonly ChartValue[] {
  return value.children.length > 0 ? value.children.flatMap(leaves) : [value]
}

/** What has to be on for some values to matter; replicas matter only without autoscaling. */
const settings: readonly object[] = [
  {},
  {
    osm: {
      deployPrometheus: true,
      deployJaeger: true,
      osmController: { autoScale: { enable: true } },
      injector: { autoScale: { enable: true } },
    },
  },
]

/** The settings with one value at a path. */
function withValue(setting: object, path: string, value: unknown): Readonly<Record<string, unknown>> {
  const [key = '', ...rest] = path.split('.')
  const inner = (setting as Readonly<Record<string, object | undefined>>)[key] ?? {}
  return { ...setting, [key]: rest.length === 0 ? value : withValue(inner, rest.join('.'), value) }
}

describe('each value of the chart', () => {
  /** Paths of the values that change what is rendered. */
  const changing = new Set<string>()

  beforeAll(() => {
    const tried = [...effective, ...unused]
    for (const setting of settings) {
      const others = tried.map((value) => withValue(setting, value.path, otherValue(value)))
      const [before, ...after] = renderMany([setting, ...others])
      for (const [index, { path }] of tried.entries()) if (after[index] !== before) changing.add(path)
    }
  }, 120_000)

  it.each(effective)('$path changes what is rendered', ({ path }) => {
    expect(changing).toContain(path)
  })

  it.each(unused)('$path is taken and changes nothing, as its description says', ({ path }) => {
    expect(changing).not.toContain(path)
  })

  it.each([...refused])('%s is refused by its name', (path) => {
    const value = values.find((candidate) => candidate.path === path)!
    const { code, stderr } = template(withValue({}, path, otherValue(value)))
    expect([code, stderr]).toEqual([1, expect.stringContaining(path)])
  })
})
