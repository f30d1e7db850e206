import { expect, test } from '@jest/globals'
import { writeTar } from '../images/tar.mjs'
import { untar } from './untar.mjs'

test('reads the files of an archive, with long paths and contents that fill blocks', () => {
  const long = `${'folder/'.repeat(20)}name`
  const entries = [
    { path: 'empty', type: 'file' as const, mode: 0o644, content: new Uint8Array() },
    { path: long, type: 'file' as const, mode: 0o755, content: Buffer.alloc(1024, 1) },
    { path: 'link', type: 'link' as const, mode: 0o777, target: 'empty' },
    { path: 'odd', type: 'file' as const, mode: 0o644, content: Buffer.from('x') },
  ]
  const found = untar(writeTar(entries)).map(({ path, content }) => [path, content.length])
  expect(found).toEqual([
    ['empty', 0],
    [long, 1024],
    ['odd', 1],
  ])
})
