import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, it } from '@jest/globals'

import { nameserversIn } from './nameservers.js'

it('finds the nameservers of all files once, and nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'osm-resolv-'))
  try {
    const [first, second] = [join(folder, 'first'), join(folder, 'second')]
    writeFileSync(first, '# nameserver 192.0.2.1\nnameserver 127.0.0.53\noptions edns0\nsearch example.com\n')
    writeFileSync(
      second,
      'nameserver 192.0.2.53\n\tnameserver fd00::53\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\nnameserver 999.0.0.1\n',
    )
    expect(nameserversIn([first, join(folder, 'missing'), second])).toEqual(['127.0.0.53', '192.0.2.53', 'fd00::53'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
