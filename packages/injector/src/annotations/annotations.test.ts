import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { readInterfaces, readIpRanges, readPorts, readSwitch } from './values.js'
import { mergeResources, readResources } from './resources.js'

const name = 'openservicemesh.io/example'
const limits = 'openservicemesh.io/sidecar-resource-limits-cpu'

/** What people and attackers write into annotations. */
const hostile = [
  '--flag',
  '-j ACCEPT',
  '"80"',
  "'80'",
  '80\n443',
  '80;rm -rf /',
  '$(id)',
  '`id`',
  '80 443',
  '\u0000',
  '\u202e80',
  '８０',
  '1e3',
  '0x50',
  '80,',
  ',80',
  '80,,443',
  '{"a":1}',
  'ｆd00::/8',
]

describe('annotations', () => {
  it.each([
    ['enabled', true],
    ['YES', true],
    ['True', true],
    ['disabled', false],
    ['no', false],
    ['false', false],
    [undefined, undefined],
  ])('reads %s as a switch', (text, expected) => {
    expect(readSwitch(text, name, 'the pod')).toBe(expected)
  })

  it('reads lists with blanks, and an empty text as an empty list', () => {
    expect(readPorts(' 80, 443 ,65535', name, 'the pod')).toEqual([80, 443, 65535])
    expect(readIpRanges('10.1.2.3/8,FD00::1/8', name, 'the pod')).toEqual(['10.0.0.0/8', 'fd00::/8'])
    expect(readInterfaces('eth0, net1.5', name, 'the pod')).toEqual(['eth0', 'net1.5'])
    for (const read of [readPorts, readIpRanges, readInterfaces]) {
      expect(read('', name, 'the pod')).toEqual([])
      expect(read(undefined, name, 'the pod')).toEqual([])
    }
  })

  it.each([...hostile, '0', '65536', '-1', '+80', '080', '80.0'])('refuses %j as ports', (text) => {
    expect(() => readPorts(text, name, 'the pod')).toThrow(
      /annotation openservicemesh.io\/example of the pod: .* is not a port/,
    )
  })

  it.each([...hostile, '10.0.0.1', '10.0.0.0/33', '256.0.0.0/8', 'fd00::/129', '10.0.0.0/08'])(
    'refuses %j as ranges',
    (text) => {
      expect(() => readIpRanges(text, name, 'the pod')).toThrow(/is not an address range; write such as/)
    },
  )

  it.each(['--flag', 'eth0;', 'a b', 'eth+', 'sixteen-letters-', '$(id)', 'eth0,,eth1', '"eth0"', '..'])(
    'refuses %j as interfaces',
    (text) => {
      expect(() => readInterfaces(text, name, 'the pod')).toThrow(/is not an interface name/)
    },
  )

  it.each(hostile)('refuses %j as a switch and as an amount', (text) => {
    expect(() => readSwitch(text, name, 'the pod')).toThrow(/is not one of enabled, yes, true, disabled, no, false/)
    if (text === '1e3') return
    expect(() => readResources({ [limits]: text }, 'the pod')).toThrow(/is not an amount such as 100m/)
  })

  it('answers a megabyte at once, and repeats little of it', () => {
    const long = '1'.repeat(1 << 20)
    const list = '80,'.repeat(1 << 18)
    const message = (read: () => unknown): string => {
      try {
        read()
      } catch (error) {
        return error instanceof Error ? error.message : ''
      }
      throw new Error('it was taken')
    }
    const messages = [
      message(() => readPorts(long, name, 'the pod')),
      message(() => readPorts(list, name, 'the pod')),
      message(() => readIpRanges(long, name, 'the pod')),
      message(() => readInterfaces(long, name, 'the pod')),
      message(() => readSwitch(long, name, 'the pod')),
      message(() => readResources({ [limits]: long }, 'the pod')),
    ]
    for (const text of messages) expect(text.length).toBeLessThan(300)
    expect(messages[1]).toContain('has more than 512 entries')
  })

  it('never lets anything but ports, ranges and names through', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.constantFrom(...hostile), fc.string({ unit: 'binary' })), (text) => {
        const taken = <T>(read: () => readonly T[]): readonly T[] => {
          try {
            return read()
          } catch {
            return []
          }
        }
        for (const port of taken(() => readPorts(text, name, 'the pod'))) expect(Number.isInteger(port)).toBe(true)
        for (const range of taken(() => readIpRanges(text, name, 'the pod')))
          expect(range).toMatch(/^[0-9a-f.:]+\/[0-9]+$/)
        for (const item of taken(() => readInterfaces(text, name, 'the pod')))
          expect(item).toMatch(/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/)
      }),
    )
  })

  it.each(['100m', '0.5', '.5', '2', '1.', '64Mi', '1Gi', '128974848', '129e6', '123M', '1E2', '5E'])(
    'reads %s as an amount',
    (text) => {
      expect(readResources({ [limits]: text, other: '--' }, 'the pod')).toEqual({ limits: { cpu: text }, requests: {} })
    },
  )

  it('names the resources that it knows', () => {
    const prefix = 'openservicemesh.io/sidecar-resource-'
    expect(() => readResources({ [`${prefix}limits-gpu`]: '1' }, 'namespace shop')).toThrow(
      /sidecar-resource-limits-gpu of namespace shop: is not known; known are .*-limits-cpu, .*-requests-ephemeral-storage$/,
    )
    expect(() => readResources({ [`${prefix}limit-cpu`]: '1' }, 'the pod')).toThrow(/is not known/)
  })

  it('takes each amount from the first that names it', () => {
    expect(
      mergeResources(
        { limits: { cpu: '1' }, requests: {} },
        { limits: { cpu: '2', memory: '2' }, requests: {} },
        { limits: { memory: '3' }, requests: { cpu: '3' } },
      ),
    ).toEqual({ limits: { cpu: '1', memory: '2' }, requests: { cpu: '3' } })
  })
})
