import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import { checkPolicy, validatePolicy, type Part, type ProxyPart } from '@osm-ts/driver-api/policy'

import { compactJson } from '../../test/catalog/compact-json.js'
import { MeshFixture, objectsOf } from '../../test/catalog/mesh-fixture.js'
import { formatProblem } from '../problem.js'

const testdata = new URL('testdata/', import.meta.url)
const scenarios = readdirSync(new URL('in/', testdata))
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => file.replace(/\.yaml$/, ''))

interface Golden {
  readonly problems: readonly string[]
  readonly proxies: Readonly<Record<string, ProxyPart>>
  /** Every part of every proxy, by kind, id and hash. */
  readonly parts: readonly { readonly hash: string; readonly part: Part }[]
}

function compute(scenario: string): Golden {
  const file = `${scenario}.yaml`
  const fixture = new MeshFixture()
  fixture.apply(objectsOf(readFileSync(new URL(`in/${file}`, testdata), 'utf8'), file))
  const documents = fixture.documents()
  const parts = new Map([...documents.values()].flatMap((document) => Object.entries(document.parts)))
  const sortKey = ([hash, { kind, id }]: [string, Part]): string => `${kind} ${id} ${hash}`
  return {
    problems: fixture.catalog.problems().map(formatProblem),
    proxies: Object.fromEntries([...documents].map(([name, { proxy }]) => [name, proxy])),
    parts: [...parts].sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1)).map(([hash, part]) => ({ hash, part })),
  }
}

describe('policies of example meshes', () => {
  it.each(scenarios)('%s is as recorded', (scenario) => {
    const golden = `${compactJson(compute(scenario))}\n`
    const path = new URL(`out/${scenario}.json`, testdata)
    if (process.env.UPDATE_GOLDEN === '1') writeFileSync(path, golden)
    expect(golden).toBe(readFileSync(path, 'utf8'))
  })

  it.each(scenarios)('%s fits the contract', (scenario) => {
    const fixture = new MeshFixture()
    fixture.apply(objectsOf(readFileSync(new URL(`in/${scenario}.yaml`, testdata), 'utf8')))
    const documents = fixture.documents()
    expect(documents.size).toBeGreaterThan(0)
    for (const [name, document] of documents) {
      expect({ name, issues: validatePolicy(document) }).toEqual({ name, issues: [] })
      expect({ name, issues: checkPolicy(document) }).toEqual({ name, issues: [] })
    }
  })
})
