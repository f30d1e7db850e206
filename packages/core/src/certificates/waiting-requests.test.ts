import { describe, expect, it } from '@jest/globals'
import { OsmError } from '@osm-ts/driver-api'

import { domains, HOUR, service } from '../../test/certificates/tresor-fixture.js'
import { CertificateIssuer } from './certificate-issuer.js'
import type { CertificateProvider, SigningRequest } from './certificate-provider.js'
import { defaultCertificateSettings } from './certificate-settings.js'
import { certificateNames } from './certificate-subject.js'
import { systemClock } from './clock.js'
import type { KeySpec } from './key-pair.js'

const names = certificateNames(service, domains)

/** An issuer whose provider answers nothing but this code. */
function issuerOf(code: string) {
  const asked: SigningRequest[] = []
  let key: KeySpec = { algorithm: 'ECDSA' }
  const provider: Pick<CertificateProvider, 'name' | 'sign'> = {
    name: 'stubborn',
    sign: async (request) => {
      asked.push(request)
      throw new OsmError(code, 'no')
    },
  }
  const issuer = new CertificateIssuer({
    provider: provider as CertificateProvider, // an issuer signs, and does nothing else
    settings: () => ({ ...defaultCertificateSettings, key }),
    clock: systemClock,
    random: Math.random,
    signal: new AbortController().signal,
  })
  const ask = async (wanted = names, validityMs?: number): Promise<SigningRequest | undefined> => {
    await expect(issuer.issue({ names: wanted, validityMs })).rejects.toMatchObject({ code })
    return asked.at(-1)
  }
  return { ask, useKey: (next: KeySpec) => void (key = next) }
}

describe('a request that waits for an approval', () => {
  it('is repeated with the same key and lifetime', async () => {
    const { ask } = issuerOf('OSM_CERT_APPROVAL_PENDING')
    const first = await ask()
    const second = await ask()
    expect(second?.publicKey).toEqual(first?.publicKey)
    expect(second?.validityMs).toBe(first?.validityMs)
  })

  it('is given up for other names or another kind of key', async () => {
    const { ask, useKey } = issuerOf('OSM_CERT_APPROVAL_PENDING')
    const first = await ask()
    const renamed = await ask({ ...names, dnsNames: [...names.dnsNames, 'more.example'] })
    expect(renamed?.publicKey).not.toEqual(first?.publicKey)
    const again = await ask({ ...names, dnsNames: [...names.dnsNames, 'more.example'] })
    expect(again?.publicKey).toEqual(renamed?.publicKey)
    useKey({ algorithm: 'RSA', bits: 2048 })
    expect((await ask())?.algorithm).toBe('RSA')
  })

  it('is the only one that is repeated: after a refusal the key is another', async () => {
    const { ask } = issuerOf('OSM_CERT_PROVIDER_REFUSED')
    const first = await ask(names, HOUR)
    expect((await ask(names, HOUR))?.publicKey).not.toEqual(first?.publicKey)
  })
})
