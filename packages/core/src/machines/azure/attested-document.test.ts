import { describe, expect, it } from '@jest/globals'

import {
  AzureAuthority,
  type CertificateFacts,
  documentContent,
  StandInCertificate,
} from '../../../test/machines/azure-authority.js'
import { certificatesOfDocument, verifyAttestedDocument } from './attested-document.js'
import { azureRoots } from './azure-roots.js'
import { parseAzureMachines, permitsVirtualMachine } from './azure-permission.js'

const HOUR_MS = 3_600_000
const nonce = '0123456789'
const machine = {
  vmId: 'BD8E7443-24a0-41f3-b949-8baf4fd1c573',
  subscriptionId: '5f130ffc-0a3e-4795-b691-4f56a12a5547',
} as const
const critical = (id: string): Buffer =>
  Buffer.from(
    `30${(id.length / 2 + 9).toString(16).padStart(2, '0')}06${(id.length / 2).toString(16).padStart(2, '0')}${id}0101ff04023000`,
    'hex',
  )

describe('an attested document of Azure', () => {
  const authority = new AzureAuthority()
  const facts = { nonce, ...machine }

  function verify(
    document = authority.document(facts),
    {
      by = authority,
      issuers = [by.issuer.pem],
      now = Date.now(),
    }: {
      by?: AzureAuthority
      issuers?: readonly string[]
      now?: number
    } = {},
  ) {
    return verifyAttestedDocument({ document, issuers }, { roots: [by.root.x509], nonce, now })
  }

  const codeOf = (attempt: () => unknown): unknown => {
    try {
      attempt()
      return undefined
    } catch (error) {
      const { code, message } = error as { readonly code: string; readonly message: string }
      return `${code} ${message}`
    }
  }

  it('names the virtual machine that it was made for', () => {
    expect(verify()).toEqual({ id: machine.vmId.toLowerCase(), subscription: machine.subscriptionId })
    expect(certificatesOfDocument(authority.document(facts)).map(({ subject }) => subject)).toEqual([
      'CN=metadata.azure.com',
    ])
  })

  it('is refused by the roots of another authority, and without the certificates in between', () => {
    const other = new AzureAuthority()
    const document = other.document(facts)
    expect(codeOf(() => verify(document, { issuers: [other.issuer.pem] }))).toMatch(
      /^OSM_MACHINE_AZURE .*no pinned root/,
    )
    expect(codeOf(() => verify(undefined, { issuers: [] }))).toMatch(/^OSM_MACHINE_AZURE .*no pinned root/)
    expect(codeOf(() => verify(undefined, { issuers: [other.issuer.pem] }))).toMatch(/no pinned root/)
  })

  it('is refused where one byte of it was changed', () => {
    const changed = Buffer.from(authority.document(facts), 'base64')
    const at = changed.indexOf(machine.subscriptionId)
    changed[at] = '6'.charCodeAt(0)
    expect(codeOf(() => verify(changed.toString('base64')))).toMatch(/^OSM_MACHINE_AZURE .*signature does not fit/)
    let refused = 0
    const whole = Buffer.from(authority.document(facts), 'base64')
    for (let index = 0; index < whole.length; index += 7) {
      const bytes = Buffer.from(whole)
      bytes[index] = (bytes[index] ?? 0) ^ 0x10
      if (codeOf(() => verify(bytes.toString('base64'))) !== undefined) refused += 1
    }
    // Bytes that nothing depends on: the names of hashes in a list, and the algorithm of the signature.
    expect(refused).toBeGreaterThan(whole.length / 7 - 12)
  })

  it.each([
    ['is not base64', 'nonsense'],
    ['is cut short', authority.document(facts).slice(0, 400)],
    [
      'has signed attributes',
      authority.signer
        .signMessage(documentContent(facts), { attributes: Buffer.from('3000', 'hex') })
        .toString('base64'),
    ],
    ['holds no JSON', authority.signer.signMessage(Buffer.from('x')).toString('base64')],
    ['holds no times', authority.signer.signMessage(Buffer.from('{"timeStamp":{}}')).toString('base64')],
    ['has no machine', authority.document({ ...facts, vmId: '' })],
    ['has no subscription', authority.document({ ...facts, subscriptionId: '../..' })],
    ['is signed by its root', authority.root.signMessage(documentContent(facts)).toString('base64')],
  ])('is refused if it %s', (_what, document) => {
    expect(codeOf(() => verify(document))).toMatch(/^OSM_MACHINE_AZURE /)
  })

  it.each<[string, Partial<CertificateFacts>, Partial<CertificateFacts>, RegExp]>([
    ['of another name', { dnsNames: ['metadata.azure.com.example'] }, {}, /not the metadata service/],
    ['without a name', { dnsNames: [] }, {}, /not the metadata service/],
    ['for mail', { usage: 'email' }, {}, /not meant for TLS servers/],
    ['that has expired', { notAfter: Date.now() - HOUR_MS }, {}, /was valid until/],
    ['that is not valid yet', { notBefore: Date.now() + HOUR_MS }, {}, /is not valid before/],
    ['that may issue itself', { isAuthority: true }, {}, /that of an authority/],
    ['with an unknown critical extension', { extension: critical('550404') }, {}, /unknown critical extension/],
    ['of an authority for mail', {}, { usage: 'email' }, /not meant for TLS servers/],
    ['of an authority that has expired', {}, { notAfter: Date.now() - HOUR_MS }, /was valid until/],
    ['of a server in place of an authority', {}, { isAuthority: false }, /no pinned root/],
    ['of an authority for certain names only', {}, { extension: critical('551d1e') }, /limited to certain names/],
  ])('is refused if its signer has a certificate %s', (_what, signer, issuer, words) => {
    const by = new AzureAuthority(signer, issuer)
    expect(codeOf(() => verify(by.document(facts), { by }))).toMatch(words)
  })

  it('is refused if an authority stands below one that may have none', () => {
    const below = new StandInCertificate({ name: 'Below', isAuthority: true }, authority.issuer)
    const signer = new StandInCertificate({ name: 'x', dnsNames: ['metadata.azure.com'], usage: 'server' }, below)
    const document = signer.signMessage(documentContent(facts)).toString('base64')
    expect(codeOf(() => verify(document, { issuers: [below.pem, authority.issuer.pem] }))).toMatch(
      /may not issue for other authorities/,
    )
  })

  it('is refused before and after its time, and for another nonce', () => {
    expect(codeOf(() => verify(undefined, { now: Date.now() + 7 * HOUR_MS }))).toMatch(/^OSM_MACHINE_AZURE_EXPIRED /)
    const later = authority.document({ ...facts, createdAt: Date.now() + HOUR_MS })
    expect(codeOf(() => verify(later))).toMatch(/^OSM_MACHINE_AZURE_EXPIRED /)
    const soon = authority.document({ ...facts, createdAt: Date.now() + 60_000 })
    expect(codeOf(() => verify(soon))).toBeUndefined()
    expect(codeOf(() => verify(authority.document({ ...facts, nonce: '9876543210' })))).toMatch(
      /^OSM_MACHINE_AZURE_REPLAYED /,
    )
  })
})

describe('roots of Azure', () => {
  it('are two public ones, or those that are given', () => {
    expect(azureRoots('').map(({ subject }) => subject.split('\n').at(-1))).toEqual(
      expect.arrayContaining(['CN=DigiCert Global Root G2', 'CN=Microsoft RSA Root Certificate Authority 2017']),
    )
    const { root, signer } = new AzureAuthority()
    expect(azureRoots(root.pem)).toHaveLength(1)
    for (const text of [
      'nonsense',
      signer.pem,
      `${root.pem}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`,
    ])
      expect(() => azureRoots(text)).toThrow('OSM_MACHINE_AZURE_ROOTS: expected certificates in PEM')
  })
})

describe('permission of virtual machines', () => {
  const { subscriptionId: subscription } = machine
  const id = machine.vmId.toLowerCase()

  it('is for a subscription or single machines', () => {
    const only = parseAzureMachines(` ${subscription.toUpperCase()}/${machine.vmId} `) ?? []
    expect(permitsVirtualMachine(only, { subscription, id })).toBe(true)
    expect(permitsVirtualMachine(only, { subscription, id: subscription })).toBe(false)
    const all = parseAzureMachines(`${id},${subscription}`) ?? []
    expect(permitsVirtualMachine(all, { subscription, id: subscription })).toBe(true)
    expect(permitsVirtualMachine(all, { subscription: nonce, id })).toBe(false)
  })

  it.each(['', '*', `${subscription},`, `${subscription}/*`, `${subscription}/${id}/x`])(
    'is not read from %j',
    (text) => {
      expect(parseAzureMachines(text)).toBeUndefined()
    },
  )
})
