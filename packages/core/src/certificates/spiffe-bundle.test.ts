import { createPublicKey, X509Certificate } from 'node:crypto'

import { beforeAll, describe, expect, it } from '@jest/globals'

import { generateRoot } from './certificate-authority.js'
import { SpiffeBundle } from './spiffe-bundle.js'

describe('SpiffeBundle', () => {
  let first: string
  let second: string
  let rsa: string

  beforeAll(async () => {
    const root = async (key: Parameters<typeof generateRoot>[1]): Promise<string> =>
      (await generateRoot('workload', key, Date.now())).certificate
    ;[first, second, rsa] = await Promise.all([
      root({ algorithm: 'ECDSA' }),
      root({ algorithm: 'ECDSA' }),
      root({ algorithm: 'RSA', bits: 2048 }),
    ])
  })

  it('has each root as a key for X.509-SVIDs, with its certificate', () => {
    const bundle = new SpiffeBundle({ trustBundle: () => [first, rsa] }, { now: () => 5_000 })
    const { keys, ...rest } = bundle.current()
    expect(rest).toEqual({ spiffe_sequence: 5, spiffe_refresh_hint: 300 })
    expect(keys.map(({ kty, crv, use }) => [kty, crv, use])).toEqual([
      ['EC', 'P-256', 'x509-svid'],
      ['RSA', undefined, 'x509-svid'],
    ])
    for (const [index, pem] of [first, rsa].entries()) {
      const { x5c, ...jwk } = keys[index] as (typeof keys)[number]
      const certificate = new X509Certificate(pem)
      expect(Buffer.from(x5c[0], 'base64')).toEqual(certificate.raw)
      expect(createPublicKey({ key: jwk, format: 'jwk' }).equals(certificate.publicKey)).toBe(true)
      // Parameters of private keys (RFC 7518).
      for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(jwk).not.toHaveProperty(secret)
    }
  })

  it('has both roots during a rotation, and a sequence that grows with each change and with nothing else', () => {
    let now = 5_000
    let roots = [first]
    const bundle = new SpiffeBundle({ trustBundle: () => roots }, { now: () => now })
    const start = bundle.current()
    now += 60_000
    expect(bundle.current()).toBe(start)
    roots = [first, second]
    const both = bundle.current()
    expect(both.keys).toHaveLength(2)
    expect(both.spiffe_sequence).toBe(65)
    // The next changes come within the same second.
    roots = [second, first]
    expect(bundle.current().spiffe_sequence).toBe(66)
    roots = [second]
    expect(bundle.current()).toMatchObject({ spiffe_sequence: 67, keys: [both.keys[1]] })
  })
})
