import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { elfNeeds } from './elf-needed.mjs'

/** A program of one loaded segment, with an interpreter and a dynamic section. */
function program(): Buffer {
  const file = Buffer.alloc(0x400)
  file.write('\x7fELF\x02\x01', 0, 'latin1')
  file.writeBigUInt64LE(64n, 32)
  file.writeUInt16LE(56, 54)
  file.writeUInt16LE(3, 56)
  const segments = [
    { type: 1, offset: 0x200, address: 0x10_200, length: 0x200 },
    { type: 3, offset: 0x210, address: 0x10_210, length: 16 },
    { type: 2, offset: 0x240, address: 0x10_240, length: 64 },
  ]
  for (const [index, { type, offset, address, length }] of segments.entries()) {
    const at = 64 + index * 56
    file.writeUInt32LE(type, at)
    for (const [place, value] of [
      [8, offset],
      [16, address],
      [32, length],
    ] as const)
      file.writeBigUInt64LE(BigInt(value), at + place)
  }
  file.write('/lib/ld.so.1\0', 0x210)
  const entries = [
    [1, 1],
    [1, 11],
    [5, 0x10_300],
    [0, 0],
  ]
  for (const [index, [tag = 0, value = 0]] of entries.entries()) {
    file.writeBigUInt64LE(BigInt(tag), 0x240 + index * 16)
    file.writeBigUInt64LE(BigInt(value), 0x248 + index * 16)
  }
  file.write('\0libc.so.6\0libm.so.6\0', 0x300)
  return file
}

describe('elfNeeds', () => {
  it('names the libraries and the dynamic linker of a program', () => {
    expect(elfNeeds(program())).toEqual({ needed: ['libc.so.6', 'libm.so.6'], interpreter: '/lib/ld.so.1' })
  })

  it('refuses what is not a program of 64 bits, little-endian', () => {
    expect(() => elfNeeds(Buffer.from('#!/bin/sh\n'))).toThrow('expected an ELF file')
    const narrow = program()
    narrow[4] = 1
    expect(() => elfNeeds(narrow)).toThrow('expected an ELF file')
  })

  const isLinux = process.platform === 'linux'
  it(isLinux ? 'reads the Node.js that runs it' : 'does not take the Node.js of another system for a program', () => {
    const read = () => elfNeeds(readFileSync(process.execPath))
    if (isLinux) expect(read().needed).toContain('libc.so.6')
    else expect(read).toThrow('expected an ELF file')
  })
})
