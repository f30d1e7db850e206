import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { type ProxyPolicy, validatePolicy } from '@osm-ts/driver-api/policy'

import { pinPolicy } from '../../test/pin-policy.js'
import { resourcesAsJson } from '../../test/resources-as-json.js'
import { Translator } from './translator.js'

const testdata = new URL('../testdata/', import.meta.url)
const update = process.env['UPDATE_GOLDEN'] === '1'
const cases = readdirSync(new URL('in/', testdata)).sort()

function read(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, testdata), 'utf8'))
}

function write(path: string, value: unknown): void {
  writeFileSync(new URL(path, testdata), `${JSON.stringify(value, null, 2)}\n`)
}

/** The document of a case. When goldens are refreshed it may have been edited: then its hashes are made right first. */
function policyOf(file: string): ProxyPolicy {
  const policy = read(`in/${file}`) as ProxyPolicy
  if (!update) return policy
  const pinned = pinPolicy(policy)
  write(`in/${file}`, pinned)
  return pinned
}

describe('translation of whole documents', () => {
  if (update) {
    rmSync(new URL('out/', testdata), { recursive: true, force: true })
    mkdirSync(new URL('out/', testdata))
  }

  it.each(cases)('%s is a valid document', (file) => {
    expect(validatePolicy(policyOf(file))).toEqual([])
  })

  it.each(cases)('%s gives the expected resources', (file) => {
    const { proxy, parts } = policyOf(file)
    const translator = new Translator()
    const actual = resourcesAsJson(translator.translate(proxy, (hash) => parts[hash] ?? fail(hash), 1))
    if (update) write(`out/${file}`, actual)
    expect(actual).toEqual(read(`out/${file}`))
  })

  it('has an expectation for every document, and no other', () => {
    expect(readdirSync(new URL('out/', testdata)).sort()).toEqual(cases)
  })
})

function fail(hash: string): never {
  throw new Error(`the document has no part ${hash}`)
}
