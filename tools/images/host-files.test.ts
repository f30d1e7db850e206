import { describe, expect, it } from '@jest/globals'
import { packageNames, parseLdd } from './host-files.mjs'

describe('parseLdd', () => {
  it('takes the paths of several programs, each once', () => {
    const output = `/usr/bin/node:
	linux-vdso.so.1 (0x00007f7d86de7000)
	libdl.so.2 => /lib/x86_64-linux-gnu/libdl.so.2 (0x00007f7d86dd1000)
	/lib64/ld-linux-x86-64.so.2 (0x00007f7d86de9000)
/usr/bin/cat:
	libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f8d89ca6000)
	/lib64/ld-linux-x86-64.so.2 (0x00007f8d89ea7000)
`
    expect(parseLdd(output)).toEqual([
      '/lib/x86_64-linux-gnu/libc.so.6',
      '/lib/x86_64-linux-gnu/libdl.so.2',
      '/lib64/ld-linux-x86-64.so.2',
    ])
  })

  it('names a library that is missing', () => {
    expect(() => parseLdd('\tlibnode.so.108 => not found\n')).toThrow('does not find libnode.so.108')
  })
})

describe('packageNames', () => {
  it('takes names, with and without an architecture, each once', () => {
    const output = `diversion by dash from: /bin/sh
libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6
nodejs: /usr/bin/node
libc6:amd64: /lib64/ld-linux-x86-64.so.2
`
    expect(packageNames(output)).toEqual(['libc6', 'nodejs'])
  })
})
