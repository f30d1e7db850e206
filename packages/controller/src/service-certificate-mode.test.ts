import { describe, expect, it } from '@jest/globals'
import type { Authority, ConfigChange } from '@osm-ts/core'
import { Listeners } from '@osm-ts/driver-api/toolkit'

import { serviceCertificateMode } from './service-certificate-mode.js'

type Mode = 'shared' | 'perProxy'

/** A MeshConfig and a provider that change when a test says so. */
function fixture(serviceCertificates: Mode, signsPublicKeys: boolean) {
  const [configChanges, rootChanges] = [new Listeners<ConfigChange>(), new Listeners<Authority>()]
  const abort = new AbortController()
  const config = { certificate: { serviceCertificates } }
  const provider = {
    signsPublicKeys,
    onRootChange: (listener: (authority: Authority) => void) => rootChanges.add(listener),
  }
  const configurator = {
    // As much of a MeshConfig as is looked at.
    current: () => config as unknown as ConfigChange['after'],
    subscribe: (listener: (change: ConfigChange) => void) => configChanges.add(listener),
  }
  const mode = serviceCertificateMode(configurator, provider, abort.signal)
  const seen: Mode[] = []
  const end = mode.onChange(() => seen.push(mode.current()))
  return {
    mode,
    seen,
    end,
    abort,
    configure: (next: Mode) => {
      const before = configurator.current()
      config.certificate = { serviceCertificates: next }
      configChanges.notify({ before, after: configurator.current() })
    },
    replaceProvider: (next: boolean) => {
      provider.signsPublicKeys = next
      rootChanges.notify('workload')
    },
  }
}

describe('the keys that service certificates are for', () => {
  it.each([
    ['shared', true, 'shared'],
    ['shared', false, 'shared'],
    ['perProxy', true, 'perProxy'],
    // Vault and cert-manager want requests that the key has signed.
    ['perProxy', false, 'shared'],
  ] as const)('are, with %s and a provider that signs public keys: %s, those of mode %s', (wanted, signs, expected) => {
    expect(fixture(wanted, signs).mode.current()).toBe(expected)
  })

  it('change with the MeshConfig, and listeners are told once', () => {
    const { configure, seen } = fixture('shared', true)
    configure('perProxy')
    configure('perProxy')
    configure('shared')
    expect(seen).toEqual(['perProxy', 'shared'])
  })

  it('change when another provider signs, in a rotation from one that can sign for them to one that cannot and back', () => {
    const { replaceProvider, seen } = fixture('perProxy', true)
    replaceProvider(true)
    replaceProvider(false)
    replaceProvider(true)
    expect(seen).toEqual(['shared', 'perProxy'])
  })

  it('do not change with a MeshConfig that the provider cannot follow', () => {
    const { configure, replaceProvider, seen } = fixture('shared', false)
    configure('perProxy')
    expect(seen).toEqual([])
    replaceProvider(true)
    expect(seen).toEqual(['perProxy'])
  })

  it('are not followed after the end of a listener, or of the controller', () => {
    const one = fixture('shared', true)
    one.end()
    one.configure('perProxy')
    const other = fixture('shared', true)
    other.abort.abort()
    other.configure('perProxy')
    expect([...one.seen, ...other.seen]).toEqual([])
    expect(other.mode.current()).toBe('perProxy')
  })
})
