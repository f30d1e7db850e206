import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { membersOf } from '../test/tsdoc.js'
import { applyReportSchema } from './schema/driver.js'

const source = (name: string): string => fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
const page = readFileSync(fileURLToPath(new URL('../../../docs/design/driver-contract.md', import.meta.url)), 'utf8')
/** Everything that stands as code on the page, cut into names. */
const named = new Set([...page.matchAll(/```[^]*?```|`[^`]+`/g)].flatMap(([code]) => code.split(/[^A-Za-z]+/)))

describe('docs/design/driver-contract.md', () => {
  it.each([
    ['Driver', 'driver'],
    ['InjectorContext', 'injector-context'],
    ['ControllerContext', 'controller-context'],
    ['HealthProbes', 'health'],
    ['HealthProbe', 'health'],
  ])('documents every member of %s', (name, file) => {
    const members = membersOf(source(file), name)
    expect(members.length).toBeGreaterThan(2)
    expect(members.filter((member) => !named.has(member))).toEqual([])
  })

  it('explains every apply state that a driver may report', () => {
    const states = JSON.stringify(applyReportSchema.properties.parts).match(/"const":"(\w+)"/g) ?? []
    expect(states).toHaveLength(3)
    expect(states.map((text) => text.slice(9, -1)).filter((state) => !named.has(state))).toEqual([])
  })
})
