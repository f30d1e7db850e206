import { describe, expect, it } from '@jest/globals'

import { type KindMap, ObjectDecoder, readObjects } from '../../../spec/index.js'
import { matchesEverything, translateMatch } from './route-match.js'

const matchOf = (source: Omit<Parameters<typeof translateMatch>[0], 'name'>) => translateMatch({ name: 'm', ...source })

describe('translateMatch', () => {
  it.each([
    ['nothing', {}],
    ['the expression for any path', { pathRegex: '.*' }],
    ['an empty expression', { pathRegex: '' }],
    ['an empty list of methods', { methods: [] }],
    ['the method *', { methods: ['GET', '*'] as const }],
  ])('makes %s match every request', (_, source) => {
    const translated = matchOf(source)
    expect(translated).toEqual({ ok: true, match: {} })
    expect(translated.ok && matchesEverything(translated.match)).toBe(true)
  })

  it.each(['__proto__', 'constructor', 'tostring', 'hasownproperty'])(
    'keeps a condition on a header named %s',
    (name) => {
      const [object] = readObjects(
        `{"apiVersion":"specs.smi-spec.io/v1alpha4","kind":"HTTPRouteGroup","metadata":{"name":"g"},
          "spec":{"matches":[{"name":"m","headers":[{"${name}":"x"}]}]}}`,
        { decoder: new ObjectDecoder() },
      ).objects
      const [source] = (object as KindMap['HTTPRouteGroup']).spec.matches
      expect(source === undefined ? undefined : translateMatch(source)).toEqual({
        ok: true,
        match: { headers: [{ name, match: { type: 'exact', value: 'x' } }] },
      })
    },
  )

  it('compares plain text as text and everything else as an expression', () => {
    expect(matchOf({ pathRegex: '/books-bought' })).toEqual({
      ok: true,
      match: { path: { type: 'exact', value: '/books-bought' } },
    })
    expect(matchOf({ pathRegex: '/v1.0' })).toEqual({ ok: true, match: { path: { type: 'regex', value: '/v1.0' } } })
  })

  it('sorts methods and headers, lowers header names, and lets the last of equal names hold', () => {
    expect(
      matchOf({
        methods: ['POST', 'GET', 'POST'],
        headers: [{ 'X-B': 'one' }, { 'user-agent': '.*Android.*' }, { 'x-b': 'two' }],
      }),
    ).toEqual({
      ok: true,
      match: {
        methods: ['GET', 'POST'],
        headers: [
          { name: 'user-agent', match: { type: 'regex', value: '.*Android.*' } },
          { name: 'x-b', match: { type: 'exact', value: 'two' } },
        ],
      },
    })
  })

  it('requests a header that may have any value', () => {
    expect(matchOf({ headers: [{ 'x-debug': '.*' }] })).toEqual({
      ok: true,
      match: { headers: [{ name: 'x-debug', match: { type: 'present' } }] },
    })
  })

  it('takes an empty header expression for the empty value', () => {
    expect(matchOf({ headers: [{ 'x-empty': '' }] })).toEqual({
      ok: true,
      match: { headers: [{ name: 'x-empty', match: { type: 'exact', value: '' } }] },
    })
  })

  it.each(['a b', 'x\n', 'é', '', ':'])(
    'refuses a match with %j for a header name, which a sidecar would refuse with all its routes',
    (name) => {
      expect(matchOf({ pathRegex: '/a', headers: [{ ok: 'b' }, { [name]: '.*' }] })).toEqual({
        ok: false,
        faults: [
          {
            field: `headers[1][${JSON.stringify(name)}]`,
            message: `${JSON.stringify(name)} is not a header name`,
            code: 'OSM_SPEC_HEADER',
          },
        ],
      })
    },
  )

  it('refuses a match with an expression that is not RE2, rather than leave the condition out', () => {
    const translated = matchOf({ pathRegex: '/a(?=b)', headers: [{ a: 'ok' }, { b: '[' }] })
    expect(translated.ok).toBe(false)
    expect(!translated.ok && translated.faults.map((fault) => fault.field)).toEqual(['pathRegex', 'headers[1]["b"]'])
  })
})
