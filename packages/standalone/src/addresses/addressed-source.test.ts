import { SnapshotFeed, YamlFolderSource } from '@osm-ts/core'
import { afterEach, describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../../test/temporary-folders.js'
import { AddressedSource } from './addressed-source.js'
import { FixedAddressTable } from './virtual-addresses.js'

const folder = temporaryFolders()
let ending = new AbortController()

afterEach(() => {
  ending.abort()
  ending = new AbortController()
})

const yaml = (name: string, spec = '{}'): string =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name}, namespace: shop }\nspec: ${spec}\n`

describe('AddressedSource', () => {
  it('gives Services the addresses of the table, from the start and when the table changes', async () => {
    const table = new FixedAddressTable({ 'shop/a': '10.0.0.1', 'shop/b': '10.0.0.2' })
    const specs = folder({ 'a.yaml': yaml('a'), 'b.yaml': yaml('b', '{ clusterIP: 10.9.9.9 }'), 'c.yaml': yaml('c') })
    const source = new YamlFolderSource({ folder: specs })
    const feed = new SnapshotFeed([new AddressedSource(source, table)])
    await feed.start(ending.signal)
    const addresses = (): unknown =>
      feed
        .current()
        ?.list('Service')
        .map(({ spec }) => spec.clusterIP)
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2', undefined])

    const changed: string[][] = []
    feed.subscribe((update) => changed.push([...update.changed]))
    table.replace({ 'shop/a': '10.0.0.1', 'shop/b': '10.0.0.2', 'shop/c': '10.0.0.3' })
    expect(addresses()).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3'])
    // What stays the same is no change to anybody.
    expect(changed).toEqual([['Service/shop/c']])
    expect(feed.locate(changed[0]![0] as never, 'spec')).toMatchObject({ line: 4 })
  })
})
