import { existsSync, readdirSync, readFileSync } from 'node:fs'

import { beforeAll, describe, expect, it } from '@jest/globals'

import { behaviourOf, fieldsOf, variants, type Field } from '../../test/catalog/field-effects.js'
import { MeshFixture, objectsOf } from '../../test/catalog/mesh-fixture.js'
import { resolveMeshConfig } from '../config/index.js'
import { SpecRules } from '../spec/index.js'
import { consentNeeded } from '../spec/reference-grant.js'
import { allKinds } from '../spec/schema/kinds.js'

const pageUrl = new URL('../../../../docs/reference/fields-outside-policies.md', import.meta.url)
/** Kinds of which the page says that no field is in a policy, or that no one but a program writes them. */
const leftOut = new Set(['Workload', 'WorkloadInstance', 'ExternalWorkload', 'MeshRootCertificate', 'ServiceExport'])

interface Row {
  readonly field: string
  readonly effect: string
  readonly link: string | undefined
}

const rows: readonly Row[] = [
  ...readFileSync(pageUrl, 'utf8').matchAll(/^\| `([^`]+)` +\| (\w+) +\|[^|]*\|(?: \[test\]\(([^)]+)\))? *\|$/gm),
].flatMap(([, fields = '', effect = '', link]) => expanded(fields).map((field) => ({ field, effect, link })))

/** `a.{b,c}.d` as `a.b.d` and `a.c.d`. Empty braces are the values of a map. */
function expanded(text: string): readonly string[] {
  const found = /^(.*?)\{((?:[^{}]|\{\})+)\}(.*)$/.exec(text)
  if (found === null) return [text]
  const [, before = '', names = '', after = ''] = found
  return names.split(',').flatMap((name) => expanded(`${before}${name}${after}`))
}

function meshesIn(folder: string): readonly ReturnType<typeof objectsOf>[] {
  const testdata = new URL(`testdata/${folder}/`, import.meta.url)
  return readdirSync(testdata).map((file) => objectsOf(readFileSync(new URL(file, testdata), 'utf8'), file))
}

/** Takes out the fields of which a change of one changes the policy of some sidecar. */
function takeOutEffective(fields: Map<string, Field>, meshes: readonly ReturnType<typeof objectsOf>[]): void {
  for (const objects of meshes) {
    const fixture = new MeshFixture()
    fixture.apply(objects)
    const before = behaviourOf(fixture)
    for (const object of objects)
      for (const [name, field] of fields) {
        if (field.kind !== object.kind) continue
        for (const variant of variants(object, field)) {
          fixture.apply([variant])
          const isOther = behaviourOf(fixture) !== before
          fixture.apply([object])
          if (!isOther) continue
          fields.delete(name)
          break
        }
      }
  }
}

const fields = new Map(
  allKinds()
    .filter((kind) => !leftOut.has(kind))
    .flatMap((kind) => fieldsOf(kind))
    .map((field) => [`${field.kind} ${field.path}`, field]),
)
const listed = new Set(rows.map(({ field }) => field))
const named = [...fields].filter(([name]) => listed.has(name))

describe('the fields of all kinds', () => {
  const own = meshesIn('effects')

  it('change a policy, or have a row that says where their effect is', () => {
    const open = new Map([...fields].filter(([name]) => !listed.has(name)))
    takeOutEffective(open, [...own, ...meshesIn('in')])
    expect([...open.keys()]).toEqual([])
  })

  it('have a row only where no policy changes', () => {
    const open = new Map(named)
    takeOutEffective(open, own)
    expect(named.map(([name]) => name).filter((name) => !open.has(name))).toEqual([])
    expect([...listed].filter((name) => !fields.has(name))).toEqual([])
  })

  it('are shown by tests where the row names one, and always where they have an effect', () => {
    const needless = ['reported', 'constant', 'never']
    expect(rows.filter(({ effect, link }) => needless.includes(effect) === (link !== undefined))).toEqual([])
    expect(rows.filter(({ link }) => link !== undefined && !existsSync(new URL(link, pageUrl)))).toEqual([])
  })

  describe('that have no effect', () => {
    const reported = new Set<string>()

    beforeAll(() => {
      const rules = new SpecRules({
        clusterDomain: 'cluster.local',
        trustDomain: 'cluster.local',
        osmNamespace: 'osm-system',
        crossNamespace: () => consentNeeded,
        gatewayNames: () => [],
      })
      for (const objects of own) {
        const fixture = new MeshFixture()
        fixture.apply(objects)
        const config = fixture.snapshot.list('MeshConfig')[0]
        const { problems } = resolveMeshConfig(
          config?.spec,
          { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} },
          { object: { kind: 'MeshConfig', namespace: '', name: '' }, locate: () => undefined },
        )
        for (const { object, field = '' } of [...rules.checkAll(fixture.snapshot), ...problems])
          reported.add(`${object?.kind ?? ''} ${field.replaceAll(/\[\d+\]/g, '[]')}`)
      }
    })

    it('are reported where they are written', () => {
      const silent = rows
        .filter(({ effect }) => effect === 'reported')
        .filter(
          ({ field }) =>
            ![...reported].some(
              (name) => field === name || field.startsWith(`${name}[]`) || field.startsWith(`${name}.`),
            ),
        )
      expect(silent).toEqual([])
    })
  })
})
