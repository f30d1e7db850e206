import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from '@jest/globals'
import { hashPart } from '@osm-ts/driver-api/policy'
import { called, callers, documentOf, proxyPart, served, trustOf } from '@osm-ts/driver-testkit'

import { examples } from '../../test/examples.js'
import { translate } from './translate.js'

const base = proxyPart('c0ffee00-0000-4000-8000-000000000001', 'haproxy')
const say = (policy: Parameters<typeof documentOf>[1], trust = trustOf('roots\n')) => {
  const { proxy, parts } = documentOf(base, policy, trust)
  return translate(proxy, parts)
}

describe('translation', () => {
  it.each(Object.keys(examples))('says %s as it is kept', async (name) => {
    const { document, refusals } = say(examples[name]!)
    const files = document.files
      .filter((file) => file.name !== 'roots.pem')
      .map((file) => `# ${file.name}\n${file.content}`)
    const text = [
      document.config,
      ...files,
      ...refusals.map(({ ref, pointer, message }) => `# refused: ${ref.kind} ${ref.id} ${pointer}: ${message}\n`),
    ].join('\n')
    const golden = fileURLToPath(new URL(`../../testdata/${name}.cfg`, import.meta.url))
    if (process.env['UPDATE_GOLDEN'] === '1') await writeFile(golden, text)
    expect(text).toBe(await readFile(golden, 'utf8'))
  })

  it('keeps the layout while endpoints come and go, and changes it with everything else', () => {
    const http = { listen: { outboundHttp: { address: '127.0.0.1', port: 1 } } }
    const one = say(called([{ name: 'a', endpoints: [1001] }], http)).document
    const two = say(called([{ name: 'a', endpoints: [1002, 1003] }], http)).document
    const other = say(called([{ name: 'b', endpoints: [1001] }], http)).document
    expect(two.layout).toBe(one.layout)
    expect(two.config).not.toBe(one.config)
    expect(two.slots.filter(({ endpoint }) => endpoint !== undefined)).toHaveLength(2)
    expect(other.layout).not.toBe(one.layout)
    expect(other.access).toEqual(one.access)
  })

  it('tells what lets callers in, each apart', () => {
    const x = callers('x.y.cluster.local')
    const two = callers('x.y.cluster.local', 'z.y.cluster.local')
    const read = { match: { methods: ['GET'] }, allow: x }
    const access = (rules: Parameters<typeof served>[3], roots = ['r'], id = 'a') =>
      new Set(say(served(id, 1, 2, rules), trustOf(...roots)).document.access)
    const before = access([read])
    const without = (after: ReadonlySet<string>) => [...before].filter((grant) => !after.has(grant)).length
    expect(before.size).toBe(2)
    expect(without(access([read, { allow: x }]))).toBe(0)
    expect(without(access([{ ...read, allow: two }]))).toBe(0)
    expect(without(access([read], ['r', 's']))).toBe(0)
    expect(without(access([read], ['s']))).toBe(1)
    expect(without(access([{ ...read, allow: callers('z.y.cluster.local') }]))).toBe(1)
    expect(without(access([{ allow: x }]))).toBe(1)
    expect(without(access('deny'))).toBe(1)
    expect(without(access([read], ['r'], 'b'))).toBe(1)
  })

  it('gives places to many endpoints, and weights that HAProxy knows', () => {
    const ports = Array.from({ length: 20 }, (_, index) => 2000 + index)
    const { slots } = say(called([{ name: 'a', endpoints: ports }])).document
    expect(slots).toHaveLength(32)
    expect(slots.slice(0, 20).every(({ endpoint }) => endpoint?.weight === 100)).toBe(true)
  })

  it('serves and calls nothing with TLS parameters that it has not', () => {
    const policy = served('a', 1, 2, [{ allow: callers('x.y.cluster.local') }])
    const { document, refusals } = say(policy, { ...trustOf('r\n'), cipherSuites: ['ECDHE-ECDSA-AES128-GCM-SHA256'] })
    expect(document.config).not.toContain('  bind ')
    expect(refusals.map(({ ref }) => ref.kind)).toEqual(['trust'])
  })

  it('leaves out endpoints behind a gateway to another network, and says so', () => {
    const policy = called([{ name: 'a', endpoints: [1001, 1002] }])
    const changed = policy.parts.map((part) =>
      part.kind === 'endpoints'
        ? { ...part, endpoints: part.endpoints.map((each, i) => (i === 0 ? { ...each, cluster: 'onprem' } : each)) }
        : part,
    )
    const members = changed.flatMap((part) =>
      part.kind === 'endpoints' ? [{ id: part.id, hash: hashPart(part) }] : [],
    )
    const parts = changed.map((part) => (part.kind === 'set' && part.of === 'endpoints' ? { ...part, members } : part))
    const sets = parts.flatMap((part) => (part.kind === 'set' && part.of === 'endpoints' ? [hashPart(part)] : []))
    const { document, refusals } = say({ ...policy, changes: { ...policy.changes, endpoints: sets[0]! }, parts })
    expect(document.slots.flatMap(({ endpoint }) => endpoint?.port ?? [])).toEqual([1002])
    expect(refusals).toMatchObject([{ pointer: '/endpoints/0', message: expect.stringContaining('networks') }])
  })

  it('requests nothing but mutual TLS between sidecars', () => {
    const { config } = say(called([{ name: 'a', endpoints: [1] }])).document
    expect(config).toContain('ssl verify required ca-file roots.pem crt service.pem')
    const plain = called([{ name: 'a', endpoints: [1], upstream: { tls: { mode: 'none' } } }])
    const { document, refusals } = say(plain)
    expect(document.slots).toEqual([])
    expect(refusals).toHaveLength(1)
  })
})
