import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from '@jest/globals'

import { sourceFiles } from '../test/tsdoc.js'
import { negotiateContract } from './contract.js'
import type { PolicySource, Proxies, ProxyRef } from './controller-context.js'
import type { Part, PartHash, ProxyPart } from './policy/parts.js'
import type { PolicyUpdate } from './policy/policy.js'

const root = fileURLToPath(new URL('.', import.meta.url))
const own = readFileSync(fileURLToPath(import.meta.url), 'utf8')

/** Code below `@example`, without the stars of its comment; up to the next tag or the end of the comment. */
function examplesIn(text: string): readonly string[] {
  return [...text.matchAll(/^ *\* @example\n((?: *\*(?! @|\/).*\n)+)/gm)].map(([, body = '']) =>
    body.replaceAll(/^ *\* ?/gm, '').trim(),
  )
}

/** Every line in one form: an example is as deep in a comment as it is not in this file. */
function flat(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
}

const proxy = { session: 's1' } as ProxyRef
const part = { kind: 'dns', id: 'dns' } as Part

describe('worked examples of the contract', () => {
  it('are those of this file, which are compiled and run', () => {
    const examples = sourceFiles(root).flatMap((path) => examplesIn(readFileSync(path, 'utf8')))
    expect(examples.length).toBeGreaterThanOrEqual(3)
    expect(examples.filter((example) => !flat(own).includes(flat(example)))).toEqual([])
  })

  it('choose a version', () => {
    const version = negotiateContract({ min: 1, max: 3 }, { min: 2, max: 2 }) // 2
    expect(version).toBe(2)
  })

  it('follow the policy of a proxy, part by part', async () => {
    const update = {
      revision: 7,
      added: [{ kind: 'dns', id: 'dns', hash: 'h' }],
      removed: [],
    } as unknown as PolicyUpdate
    const meshCatalog: PolicySource = {
      policies: {
        async *watch() {
          yield await Promise.resolve(update)
        },
      },
      parts: { get: async () => part },
    }
    const sent: unknown[] = []
    const send = async (own: ProxyPart, parts: ReadonlyMap<PartHash, Part>, revision: number): Promise<void> => {
      sent.push([own, [...parts], revision])
    }
    const { signal } = new AbortController()
    const held = new Map<PartHash, Part>()
    for await (const { revision, proxy: own, added, removed } of meshCatalog.policies.watch(proxy, signal)) {
      for (const { hash } of added) held.set(hash, await meshCatalog.parts.get(hash))
      await send(own, held, revision)
      for (const { hash } of removed) held.delete(hash)
    }
    expect(sent).toEqual([[undefined, [['h', part]], 7]])
  })

  it('accept a proxy by its certificate alone, and report what it applied', async () => {
    const calls: unknown[] = []
    const proxies = {
      authenticate: async () => proxy,
      report: async (report: unknown) => void calls.push(report),
      disconnected: async (session: string) => void calls.push(session),
    } as unknown as Proxies
    const certificate = new Uint8Array()
    const serve = async (): Promise<void> => void calls.push('served')
    const { session } = await proxies.authenticate(certificate)
    try {
      await serve()
      await proxies.report({ session, revision: 7, complete: true, parts: [] })
    } finally {
      await proxies.disconnected(session)
    }
    expect(calls).toEqual(['served', { session: 's1', revision: 7, complete: true, parts: [] }, 's1'])
  })
})
