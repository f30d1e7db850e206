import { describe, expect, it } from '@jest/globals'
import { issueLeaf, MemoryCaStore, systemClock, TresorProvider } from '@osm-ts/core'

import { parseRoots } from './parse-roots.js'

async function authority(): Promise<{ readonly root: string; readonly leaf: string }> {
  const key = { algorithm: 'ECDSA' } as const
  const provider = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey: key })
  const names = { commonName: 'osm-injector.osm-system.svc', dnsNames: [], uris: [], ipAddresses: [] }
  const leaf = await issueLeaf(
    provider,
    { kind: 'control-plane', ...names, validityMs: 60_000, key } as never,
    AbortSignal.timeout(5000),
  )
  provider.close()
  return { root: provider.rootCertificate('control-plane').chain, leaf: leaf.chain }
}

describe('parseRoots', () => {
  it('reads every certificate once', async () => {
    const [a, b] = [await authority(), await authority()]
    expect(parseRoots(`# comment\n${a.root}\n${b.root}${a.root}`, 'x')).toEqual([a.root, b.root])
  })

  it.each(['', 'no PEM', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])('refuses %j', (text) => {
    expect(() => parseRoots(text, 'Secret a/b')).toThrow(expect.objectContaining({ code: 'OSM_BOOTSTRAP_ROOT' }))
  })

  it('refuses a certificate that is not one of a CA', async () => {
    const { leaf } = await authority()
    expect(() => parseRoots(leaf, 'Secret a/b')).toThrow('not a CA certificate')
  })
})
