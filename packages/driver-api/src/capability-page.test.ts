import { describe, expect, it } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { capabilitiesSchema } from './schema/driver.js'

const path = fileURLToPath(new URL('../../../docs/reference/capabilities.md', import.meta.url))
const source = readFileSync(fileURLToPath(new URL('./capabilities.ts', import.meta.url)), 'utf8')

/** What the comment above a member says. */
function meaningOf(member: string): string {
  const [, text = ''] = new RegExp(`/\\*\\* (.*?) \\*/\\s*readonly ${member}:`).exec(source) ?? []
  return text.replaceAll('|', '\\|')
}

function page(): string {
  const rows = Object.entries(capabilitiesSchema.properties).map(([member, schema]) => {
    const values = [...JSON.stringify(schema).matchAll(/"const":"([^"]+)"/g)].map(([, value = '']) => `\`${value}\``)
    return `| \`${member}\` | ${meaningOf(member)} | ${values.length > 0 ? values.join(', ') : '`true`, `false`'} |\n`
  })
  return `# Capabilities

Capabilities that a driver can declare. The mesh refuses or reports everything else. For rules and reasons, see
[the driver contract](../design/driver-contract.md#capabilities).

This page is generated from the contract by the test \`capability-page.test.ts\` of driver-api with \`UPDATE_GOLDEN=1\`.

| field | meaning | values |
| --- | --- | --- |
${rows.join('')}`
}

/** Formatting of tables is the formatter's matter. */
const bare = (text: string): string => text.replaceAll(/ {2,}/g, ' ').replaceAll(/-{3,}/g, '---')

describe('docs/reference/capabilities.md', () => {
  it('says what every capability means', () => {
    expect(Object.keys(capabilitiesSchema.properties).filter((member) => meaningOf(member) === '')).toEqual([])
  })

  it('is what the contract says', () => {
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, page())
    expect(bare(readFileSync(path, 'utf8'))).toBe(bare(page()))
  })
})
