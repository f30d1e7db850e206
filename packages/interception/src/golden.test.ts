import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { renderInitScript } from './init-script.js'
import { interceptionRules } from './interception-rules.js'
import { InterceptionError } from './errors.js'
import type { InterceptionOptions } from './options.js'
import { renderRestore } from './render-restore.js'
import type { FamilyRules } from './rule.js'

const testdata = new URL('../testdata/', import.meta.url)
const names = readdirSync(new URL('in/', testdata)).map((file) => file.replace(/\.json$/, ''))

describe('golden rulesets', () => {
  it('has an input for each output and the other way round', () => {
    const outputs = new Set(
      readdirSync(new URL('out/', testdata)).map((file) => file.replace(/\.(ipv4|ipv6|sh)\.txt$/, '')),
    )
    expect([...outputs].sort()).toEqual([...names].sort())
  })

  it.each(names)('%s', (name) => {
    const options = JSON.parse(readFileSync(new URL(`in/${name}.json`, testdata), 'utf8')) as InterceptionOptions
    const rules = interceptionRules(options)
    expectGolden(`${name}.ipv4.txt`, renderOrCode(rules.ipv4))
    expectGolden(`${name}.ipv6.txt`, renderOrCode(rules.ipv6))
    expectGolden(`${name}.sh.txt`, renderInitScript(rules))
  })
})

function renderOrCode(rules: FamilyRules): string {
  try {
    return renderRestore(rules)
  } catch (error) {
    if (error instanceof InterceptionError) return `${error.code}\n`
    throw error
  }
}

function expectGolden(file: string, actual: string): void {
  const path = new URL(`out/${file}`, testdata)
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(new URL('out/', testdata), { recursive: true })
    writeFileSync(path, actual)
  }
  expect(actual).toBe(readFileSync(path, 'utf8'))
}
