import { join } from 'node:path'
import { writeFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { PortAllocator } from './port-allocator.js'

const folder = temporaryFolders()

function openAllocator(
  file: string,
  options: { range?: [number, number]; busy?: ReadonlySet<number>; seed?: string } = {},
): PortAllocator {
  const [first, last] = options.range ?? [20_000, 20_099]
  return new PortAllocator({
    file,
    range: { first, last },
    isFree: async (port) => options.busy?.has(port) !== true,
    seed: options.seed ?? 'seed',
  })
}

const newFile = (): string => join(folder(), 'ports.json')

describe('PortAllocator', () => {
  it('gives every purpose its own port, and the same one when it is asked for again', async () => {
    const allocator = openAllocator(newFile())
    const first = await allocator.claim('shop/web-0', ['admin', 'metrics'])
    const other = await allocator.claim('shop/web-1', ['admin', 'metrics'])
    expect(new Set([...first.values(), ...other.values()]).size).toBe(4)
    expect(await allocator.claim('shop/web-0', ['metrics', 'admin'])).toEqual(first)
  })

  it('remembers ports over a restart if they are free, and finds others if they are not', async () => {
    const file = newFile()
    const before = await openAllocator(file).claim('shop/web-0', ['admin', 'metrics'])
    const taken = before.get('admin')!
    const after = await openAllocator(file, { busy: new Set([taken]) }).claim('shop/web-0', ['admin', 'metrics'])
    expect(after.get('metrics')).toBe(before.get('metrics'))
    expect(after.get('admin')).not.toBe(taken)
  })

  it('leaves ports alone that are noted for others, until there is no other', async () => {
    const file = newFile()
    const noted = await openAllocator(file, { range: [20_000, 20_003] }).claim('shop/old-0', ['a', 'b'])
    const allocator = openAllocator(file, { range: [20_000, 20_003] })
    const fresh = await allocator.claim('shop/new-0', ['a', 'b'])
    expect([...noted.values()].filter((port) => [...fresh.values()].includes(port))).toEqual([])
    expect((await allocator.claim('shop/new-0', ['c', 'd'])).size).toBe(2)
    await expect(allocator.claim('shop/new-0', ['e'])).rejects.toMatchObject({ code: 'OSM_STANDALONE_PORTS' })
  })

  it('begins to search at different places for different meshes', async () => {
    const ports = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (seed) => {
        const claimed = await openAllocator(newFile(), { seed, range: [20_000, 32_767] }).claim('x', ['admin'])
        return claimed.get('admin')
      }),
    )
    expect(new Set(ports).size).toBe(4)
  })

  it('refuses fixed ports that somebody has, and takes none of them then', async () => {
    const allocator = openAllocator(newFile(), { busy: new Set([8080]) })
    expect(await allocator.claimFixed('shop/web-0', [8081, 8080])).toBe(8080)
    expect(await allocator.claimFixed('shop/web-1', [8081])).toBeUndefined()
    expect(await allocator.claimFixed('shop/web-2', [8081])).toBe(8081)
    allocator.release('shop/web-1')
    expect(await allocator.claimFixed('shop/web-2', [8081])).toBeUndefined()
  })

  it('says which file is broken', () => {
    const file = newFile()
    writeFileSync(file, '{"shop/web-0": 4}')
    expect(() => openAllocator(file)).toThrow(
      expect.objectContaining({ code: 'OSM_STANDALONE_STATE', message: expect.stringContaining(file) }),
    )
  })

  it('never gives one port to two who hold it, whatever the order of claims, releases and restarts', async () => {
    const owner = fc.constantFrom('a', 'b', 'c')
    const purposes = fc.uniqueArray(fc.constantFrom('p', 'q', 'r', 's'), { minLength: 1 })
    const step = fc.oneof(
      fc.record({ kind: fc.constant('claim' as const), owner, purposes }),
      fc.record({ kind: fc.constant('release' as const), owner }),
      fc.record({ kind: fc.constant('restart' as const) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const file = newFile()
        let allocator = openAllocator(file, { range: [20_000, 20_019] })
        let held = new Map<string, string>()
        const last = new Map<string, number>()
        for (const it of steps) {
          if (it.kind === 'restart') {
            allocator = openAllocator(file, { range: [20_000, 20_019] })
            held = new Map()
          } else if (it.kind === 'release') {
            allocator.release(it.owner)
            for (const [port, holder] of held) if (holder.startsWith(`${it.owner} `)) held.delete(port)
          } else {
            for (const [purpose, port] of await allocator.claim(it.owner, it.purposes)) {
              const name = `${it.owner} ${purpose}`
              expect(held.get(String(port)) ?? name).toBe(name)
              held.set(String(port), name)
              // All ports are free and there are plenty: anyone who had one gets the same one.
              expect(last.get(name) ?? port).toBe(port)
              last.set(name, port)
            }
          }
        }
      }),
      { numRuns: 60 },
    )
  })
})
