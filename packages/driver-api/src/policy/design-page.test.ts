import { describe, expect, it } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { bookbuyer, bookstore, ledger, mysql } from '../../test/examples.js'
import { formatJson } from '../../test/json-format.js'
import { schemaHasPath } from '../../test/schema-path.js'
import type { JsonValue } from './parts.js'
import type { ProxyPolicy } from './policy.js'
import { partSchemas } from './schema.js'
import { validatePolicy } from './validate.js'

const page = fileURLToPath(new URL('../../../../docs/design/proxy-policy.md', import.meta.url))
const examples: Readonly<Record<string, ProxyPolicy>> = {
  bookbuyer: bookbuyer(),
  'bookstore-v1': bookstore(),
  ledger: ledger(),
  mysql: mysql(),
}
const block = /<!-- example: (?<name>[a-z0-9-]+) -->\s+```json\n(?<json>[^`]*)```/g

if (process.env.UPDATE_GOLDEN === '1') {
  const text = readFileSync(page, 'utf8').replaceAll(block, (_, name: string) => {
    // A document is JSON.
    const json = formatJson((examples[name] ?? null) as unknown as JsonValue)
    return `<!-- example: ${name} -->\n\n\`\`\`json\n${json}\n\`\`\``
  })
  writeFileSync(page, text)
}

const text = readFileSync(page, 'utf8')
const documents = new Map([...text.matchAll(block)].map(({ groups }) => [groups?.name ?? '', groups?.json ?? '']))

describe('docs/design/proxy-policy.md', () => {
  it('shows every example', () => {
    expect([...documents.keys()].sort()).toEqual(Object.keys(examples).sort())
  })

  it.each(Object.keys(examples))('shows the document of %s, which is valid', (name) => {
    const shown: unknown = JSON.parse(documents.get(name) ?? 'null')
    expect(validatePolicy(shown)).toEqual([])
    expect(shown).toEqual(JSON.parse(JSON.stringify(examples[name])))
  })

  it('names fields that exist', () => {
    const kinds = Object.keys(partSchemas).join('|')
    const fields = [...text.matchAll(new RegExp(`\`((?:${kinds})\\.[A-Za-z.[\\]]+)\``, 'g'))].map(
      ([, field]) => field ?? '',
    )
    expect(fields.length).toBeGreaterThan(60)
    expect(fields.filter((field) => !schemaHasPath(partSchemas, field))).toEqual([])
  })
})
