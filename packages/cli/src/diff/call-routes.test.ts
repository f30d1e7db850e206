import { describe, expect, it } from '@jest/globals'
import type { OutboundPart, Part, PartHash, SetPart } from '@osm-ts/driver-api/policy'

import { type CallSets, changedCallRoutes, egressRoutes } from './call-routes.js'

const hashOf = (id: string): PartHash => id as PartHash

function outbound(name: string, upstream = name): OutboundPart {
  const targets = [{ upstream, weight: 1 }]
  const service = { namespace: 'shop', name }
  // Nothing else is read of such a part.
  return { kind: 'outbound', id: name, service, port: 80, rules: { kind: 'tcp', targets } } as unknown as OutboundPart
}

function set(id: string, of: SetPart['of'], members: readonly string[], sets: readonly string[] = []): SetPart {
  const refs = (ids: readonly string[]) => ids.map((each) => ({ id: each, hash: hashOf(each) }))
  return { kind: 'set', id, of, members: refs(members), sets: refs(sets) }
}

function setUp(parts: Readonly<Record<string, Part>>) {
  const read: string[] = []
  const calls = (...sets: readonly string[]): CallSets => ({
    sets: new Set(sets.map(hashOf)),
    find: (hash) => {
      read.push(hash)
      const part = parts[hash]
      if (part === undefined) throw new Error(`there is no part ${hash}`)
      return part
    },
  })
  return { calls, read }
}

const names = Array.from({ length: 5_000 }, (_, at) => `s${at}`)

describe('changedCallRoutes', () => {
  it('tells what came, went and moved', () => {
    const parts = { a: outbound('a'), b: outbound('b'), c: outbound('c'), moved: outbound('b', 'elsewhere') }
    const { calls } = setUp({
      ...parts,
      old: set('old', 'outbound', ['a', 'b']),
      next: set('next', 'outbound', ['moved', 'c']),
    })
    const request = 'any connection'
    expect(changedCallRoutes(calls('old'), calls('next'))).toEqual([
      { destination: 'shop/a:80', request, before: 'a 100 %' },
      { destination: 'shop/b:80', request, before: 'b 100 %', after: 'elsewhere 100 %' },
      { destination: 'shop/c:80', request, after: 'c 100 %' },
    ])
  })

  it('reads only the parts that differ, of however many services', () => {
    const { calls, read } = setUp({
      ...Object.fromEntries([...names, 'added'].map((name) => [name, outbound(name)])),
      shared: set('shared', 'outbound', names.slice(0, 2_500)),
      old: set('old', 'outbound', names.slice(2_500), ['shared']),
      next: set('next', 'outbound', [...names.slice(2_500), 'added'], ['shared']),
    })
    expect(changedCallRoutes(calls('old'), calls('next'))).toHaveLength(1)
    expect(read).toEqual(['old', 'shared', 'next', 'shared', 'added'])
  })

  it('finds no difference where a part has another set', () => {
    const { calls } = setUp({
      a: outbound('a'),
      flat: set('flat', 'outbound', ['a']),
      deep: set('deep', 'outbound', [], ['flat']),
    })
    expect(changedCallRoutes(calls('flat'), calls('deep'))).toEqual([])
  })
})

describe('egressRoutes', () => {
  it('reads no service of the mesh', () => {
    const { calls, read } = setUp({
      services: set('services', 'outbound', names),
      out: set('out', 'egress', ['api']),
      api: {
        kind: 'egress',
        id: 'api',
        port: 80,
        protocol: 'http',
        hosts: ['api.example.com'],
        serverNames: [],
        cidrs: [],
        routes: [],
        targets: [],
      },
    })
    expect(egressRoutes(calls('services', 'out'))).toEqual([
      { destination: 'api.example.com port 80', request: 'http', targets: 'outside the mesh' },
    ])
    expect(read.sort()).toEqual(['api', 'out', 'services'])
  })
})
