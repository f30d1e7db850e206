import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { isRecorded, recordOf } from '../../codebase/log-record.js'

const entry = {
  direction: 'inbound',
  conn: { source: '10.0.0.1', sourcePort: 4711, local: '10.0.0.2:15003', kind: 'mesh' },
  since: 1000,
  answered: 1020,
  ended: 1030,
  received: 5,
  sent: 7,
  id: 'shop/cart|8080',
  address: '127.0.0.1:8080',
  head: { status: 200, headers: { 'set-cookie': ['a=1', 'b=2'], 'x-other': 'yes' } },
  request: {
    protocol: 'HTTP/1.1',
    method: 'POST',
    scheme: 'http',
    authority: 'cart.shop',
    fullPath: '/items?id=1',
    headers: { Authorization: 'Bearer x', cookie: 'c', 'x-mine': '1', host: 'cart.shop' },
  },
}
const about = {
  workload: { namespace: 'shop', instance: 'cart-0' },
  remoteLog: { meshName: 'osm', workloadAddress: '10.0.0.2' },
  host: 'machine',
  trace: { trace: 'a', span: 'b', parent: undefined, sampled: true },
  received: 'aGVsbG8=',
  sent: 'Z29vZGJ5ZQ==',
}

describe('the record of a request', () => {
  it('says who asked whom for what, and what came of it', () => {
    expect(recordOf(entry, about)).toEqual({
      reqTime: 1000,
      resTime: 1020,
      endTime: 1030,
      type: 'inbound',
      meshName: 'osm',
      remoteAddr: '10.0.0.1',
      remotePort: 4711,
      localAddr: '10.0.0.2',
      localPort: 15003,
      node: { ip: '10.0.0.2', name: 'machine' },
      pod: { ns: 'shop', ip: '10.0.0.2', name: 'cart-0' },
      service: { name: 'shop/cart|8080', target: '127.0.0.1:8080', ingressMode: false, egressMode: false },
      trace: { id: 'a', span: 'b', parent: '', sampled: '1' },
      req: {
        protocol: 'HTTP/1.1',
        method: 'POST',
        scheme: 'http',
        authority: 'cart.shop',
        path: '/items?id=1',
        headers: { Authorization: '[redacted]', cookie: '[redacted]', 'x-mine': '1', host: 'cart.shop' },
        reqSize: 5,
        body: 'aGVsbG8=',
      },
      res: {
        status: 200,
        headers: { 'set-cookie': '[redacted]', 'x-other': 'yes' },
        resSize: 7,
        body: 'Z29vZGJ5ZQ==',
      },
    })
  })

  it('says what it can of one that no one answered, on its way out of the mesh', () => {
    const { head: _, answered: __, id: ___, ...rest } = entry
    const out = { ...rest, direction: 'outbound', conn: { source: '::1', dialled: { address: '10.1.1.1', port: 80 } } }
    expect(recordOf(out, { ...about, trace: undefined })).toMatchObject({
      resTime: 1030,
      localAddr: '10.1.1.1',
      localPort: 80,
      service: { name: '', egressMode: true },
      trace: { id: '', span: '', parent: '', sampled: '' },
      res: { status: 0, headers: {} },
    })
    expect(recordOf({ ...out, isMesh: true }, about)).toMatchObject({ service: { egressMode: false } })
  })
})

describe('which requests are recorded', () => {
  const never = (): number => {
    throw new Error('no collector may be called')
  }

  it('is all or none of them, or a share', () => {
    expect(isRecorded(1, undefined, never)).toBe(true)
    expect(isRecorded(0, 'f'.repeat(16), never)).toBe(false)
    expect([0.2, 0.3].map((random) => isRecorded(0.25, undefined, () => random))).toEqual([true, false])
    const share = Number.parseInt('3fffffff', 16) / 2 ** 32
    expect(isRecorded(0.25, '0000000a3fffffff', never)).toBe(share < 0.25)
    expect(isRecorded(0.25, '0000000a40000000', never)).toBe(false)
    expect(isRecorded(0.25, '0000000A3FFFFFFF', never)).toBe(true)
  })

  it('is the same for all requests of a trace, and more of them for a larger share', () => {
    const id = fc.stringMatching(/^[0-9a-f]{16}$/)
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(id, share, share, (trace, a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)]
        expect(isRecorded(less, trace, never) && !isRecorded(more, trace, never)).toBe(false)
      }),
    )
  })
})
