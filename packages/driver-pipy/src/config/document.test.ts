import { describe, expect, it } from '@jest/globals'
import { canonicalJson } from '@osm-ts/driver-api/policy'

import { EncodedConfig, encodeDocument } from './document.js'
import type { PipyConfig } from './types.js'

// Members that stand before and after those that are put in between.
const config = {
  workload: { name: 'b', instance: 'a' },
  callers: {},
  format: 1,
  accessLogFormat: undefined,
} as unknown as PipyConfig
const credentials = { key: 'k"', chain: 'c' }

describe('a document', () => {
  it('is canonical JSON, with its revision and, for one sidecar, the credentials', () => {
    for (const own of [undefined, credentials]) {
      const { body, revision } = encodeDocument(config, own)
      expect(body).toBe(canonicalJson({ ...config, ...(own && { credentials: own }), revision }))
    }
  })

  it('has another revision with other credentials, and the same one in any order', () => {
    const encoded = new EncodedConfig(config)
    const revisions = [undefined, credentials, { ...credentials, key: 'x' }].map((own) => encoded.with(own).revision)
    expect(new Set(revisions).size).toBe(3)
    expect(encoded.plain.revision).toBe(revisions[0])
    expect(encodeDocument(Object.fromEntries(Object.entries(config).reverse()) as unknown as PipyConfig).body).toBe(
      encoded.plain.body,
    )
  })
})
