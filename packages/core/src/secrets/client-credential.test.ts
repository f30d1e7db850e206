import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { inspect } from 'node:util'

import { describe, expect, it } from '@jest/globals'

import { partnerCertificates, type TlsData } from '../../test/certificates/partner.js'
import { readClientCredential } from './client-credential.js'

const [good, other] = (await partnerCertificates('buyer', 'other')) as readonly [TlsData, TlsData]
const { 'tls.crt': chain, 'ca.crt': root } = good

function faultOf(data: Readonly<Record<string, string>>): string {
  const reading = readClientCredential(data)
  return reading.usable ? 'none' : reading.fault
}

describe('the client certificate of a Secret', () => {
  it('is read with its key, its chain and the roots beside it', () => {
    const reading = readClientCredential({ ...good, 'tls.crt': `${chain}${root}`, other: 'x' })
    if (!reading.usable) throw new Error(reading.fault)
    const credential = reading.credential.reveal()
    const leaf = new X509Certificate(chain)
    expect(credential.chain.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
    expect(credential.roots).toEqual([new X509Certificate(root).toString()])
    expect(credential.serialNumber).toBe(leaf.serialNumber.toLowerCase())
    expect(leaf.checkPrivateKey(createPrivateKey(credential.privateKey))).toBe(true)
  })

  it('shows its key to no one who has not requested it', () => {
    const reading = readClientCredential(good)
    const shown = [JSON.stringify(reading), inspect(reading, { depth: 9, showHidden: true })]
    for (const text of shown) expect(text).not.toContain('PRIVATE KEY')
    expect(shown[0]).toContain('serialNumber')
  })

  it.each([
    [{ ...good, 'ca.crt': '' }, 'holds no ca.crt'],
    [{}, 'holds no tls.crt, no tls.key, no ca.crt'],
    [{ ...good, 'tls.crt': 'nonsense' }, 'tls.crt holds no certificate, or one that cannot be read'],
    [{ ...good, 'ca.crt': chain.replace('MI', 'XX') }, 'ca.crt holds no certificate, or one that cannot be read'],
    [{ ...good, 'tls.key': 'nonsense' }, 'tls.key holds no private key that can be read without a passphrase'],
    [{ ...good, 'tls.key': encrypted() }, 'tls.key holds no private key that can be read without a passphrase'],
    [{ ...good, 'tls.key': other['tls.key'] }, 'tls.key is not the key of the first certificate of tls.crt'],
    [{ ...good, 'tls.key': pem(generateKeyPairSync('ed25519')) }, 'tls.key is neither RSA nor ECDSA'],
    [
      { ...good, 'tls.key': pem(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })) },
      'tls.key is on a curve other than P-256, P-384 and P-521',
    ],
    [
      { ...good, 'tls.key': pem(generateKeyPairSync('rsa', { modulusLength: 1024 })) },
      'tls.key is an RSA key of 1024 bits; at least 2048 are needed',
    ],
  ])('is refused where a sidecar would refuse it: %#', (data, fault) => {
    expect(faultOf(data)).toBe(fault)
  })
})

function pem({ privateKey: key }: { readonly privateKey: KeyObject }): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function encrypted(): string {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' }).toString()
}
