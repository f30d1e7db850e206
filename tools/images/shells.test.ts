import { expect, test } from '@jest/globals'
import { shellsAmong } from './shells.mjs'

test('finds shells by the names of files, and nothing else', () => {
  expect(shellsAmong(['bin/sh', 'usr/bin/busybox', 'usr/share/doc/dash/copyright', 'nodejs/bin/node'])).toEqual([
    'bin/sh',
    'usr/bin/busybox',
  ])
})
