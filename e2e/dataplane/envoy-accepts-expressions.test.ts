import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { maxProgramSize, PatternChecker } from '@osm-ts/core'
import { envoyBinary } from './support/mesh.js'

const patterns = new PatternChecker()

/** Each at a bound of what is taken, or of characters beyond ASCII. */
const atBounds = [
  'a{0,1000}',
  'a{1000}b{1000}c{1000}d{1000}',
  '(?:(?:a?){30}){30}',
  `/${'[a-z]+x'.repeat(146)}`,
  'é',
  'é*',
  '[é]',
  '[a-é]',
  '[é-日]',
  '(?i)[é-ü]',
  '😀+',
  '\\Qé\\E',
  '\\p{Greek}',
  '\\p{^Greek}',
  '[\\PL\\pL]',
  '[^\\PL\\pL]',
  '[^\\p{Any}]',
  '(?i)\\pL{30}',
  '\\x{ff}',
  '\\x{000ff}',
  '(?i)\\x{e9}',
  '\\377',
  '[^\\x{80}-\\x{ff}]',
  '\\pL{50}',
]

function anyExpressions(): fc.Arbitrary<string> {
  const words = [
    ...['a', '/', '-', '.', '^', '$', '|', '(', '(?:', '(?i)', '(?s:', '(?P<n>', ')', ')', '[', '[^', ']', ']', '\\'],
    ...[
      '*',
      '+',
      '?',
      '*?',
      '{2}',
      '{0,9}',
      '{3,}',
      '{1000}',
      '{0,40}',
      '\\d',
      '\\S',
      '\\b',
      '\\z',
      '\\pN',
      '\\p{Han}',
    ],
    ...['é', 'ü', '日', '😀', '\\x{7f}', '\\x{80}', '\\x{ff}', '\\x{100}', '\\x{10ffff}', '\\xe9', '\\377', '\\400'],
    ...['[[:^alpha:]]', '[é-ü]', '[\\pL\\pN]', '\\Q', '\\E', '\u{0}', '\\C', '\\pC', '\u017f', '\u212a'],
  ]
  return fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''))
}

describe('a real Envoy', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-expressions-'))
  })

  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  /** Undefined if Envoy takes a listener whose routes have these expressions, or why not. */
  function refusal(expressions: readonly string[]): string | undefined {
    const routes = expressions.flatMap((regex) => [
      { match: { safe_regex: { regex } }, direct_response: { status: 200 } },
      {
        match: { prefix: '/', headers: [{ name: 'x', string_match: { safe_regex: { regex } } }] },
        direct_response: { status: 200 },
      },
    ])
    const types = 'type.googleapis.com/envoy.extensions.filters'
    const manager = {
      '@type': `${types}.network.http_connection_manager.v3.HttpConnectionManager`,
      stat_prefix: 'expressions',
      route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes }] },
      http_filters: [{ name: 'router', typed_config: { '@type': `${types}.http.router.v3.Router` } }],
    }
    const listener = {
      name: 'expressions',
      address: { socket_address: { address: '127.0.0.1', port_value: 0 } },
      filter_chains: [{ filters: [{ name: 'http', typed_config: manager }] }],
    }
    const path = join(folder, 'bootstrap.json')
    writeFileSync(
      path,
      JSON.stringify({
        layered_runtime: {
          layers: [{ name: 'mesh', static_layer: { 're2.max_program_size.error_level': maxProgramSize } }],
        },
        static_resources: { listeners: [listener] },
      }),
    )
    const { status, stderr } = spawnSync(envoyBinary(), ['--mode', 'validate', '-c', path, '-l', 'error'], {
      encoding: 'utf8',
    })
    // It repeats the whole configuration.
    return status === 0 ? undefined : stderr.slice(0, 1_000)
  }

  it('takes every expression at the bounds', () => {
    expect(atBounds.filter((pattern) => !patterns.check(pattern).valid)).toEqual([])
    expect(refusal(atBounds)).toBeUndefined()
  })

  it('takes whatever is taken of random expressions', () => {
    const all = fc.sample(anyExpressions(), { numRuns: 20_000, seed: 21 })
    const taken = [...new Set(all)].filter((pattern) => patterns.check(pattern).valid)
    expect(taken.length).toBeGreaterThan(1_000)
    expect(refusal(taken)).toBeUndefined()
  })

  it.each(['\\x{100}', '[\\x{0}-\\x{10ffff}]', '\\400', 'a{1000}b{1000}c{1000}d{1000}e{1000}', 'a{1001}', '(é'])(
    'refuses a listener for %s, which is refused before',
    (pattern) => {
      expect(patterns.check(pattern).valid).toBe(false)
      expect(refusal([pattern])).toContain('error initializing configuration')
    },
  )
})
