import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { MemoryCaStore, Metrics, systemClock, TresorProvider, type TrustState } from '@osm-ts/core'

import { measureRoots, type RootMetricsOptions } from './root-metrics.js'
import { RotationView } from './rotation-view.js'

describe('the metrics of roots', () => {
  let before: TresorProvider
  let provider: TresorProvider
  let metrics: Metrics

  const newProvider = (): Promise<TresorProvider> =>
    TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey: { algorithm: 'ECDSA' } })

  beforeEach(async () => {
    metrics = new Metrics()
    before = await newProvider()
    provider = await newProvider()
  })

  afterEach(() => {
    before.close()
    provider.close()
  })

  /** The page after the first look. */
  async function page(
    state: Partial<TrustState>,
    fault?: { readonly code: string; readonly message: string },
  ): Promise<string> {
    const trustState = (): TrustState => ({ signs: 'AA', confirmed: ['AA'], ...state })
    const rotation = new RotationView({ trustState }, { find: () => undefined }, undefined)
    rotation.fault = fault
    const certificates: RootMetricsOptions['certificates'] = {
      getRootCertificate: (authority) => provider.rootCertificate(authority),
      trustBundle: (authority) => [
        ...provider.trustBundle(authority),
        ...(authority === 'workload' ? before.trustBundle(authority) : []),
      ],
      listCertificates: () => [],
    }
    const closing = new AbortController()
    const measuring = measureRoots({ metrics, certificates, rotation, clock: systemClock }, closing.signal)
    const { body } = await metrics.render()
    closing.abort()
    await measuring
    return body
  }

  it('tell when what signs expires, and what else is trusted', async () => {
    const body = await page({})
    const seconds = (from: TresorProvider): number => Math.floor(from.rootCertificate('workload').expiration / 1000)
    const series = 'osm_cert_authority_expiry_timestamp_seconds{authority="workload",role='
    expect(body).toContain(`${series}"root"} ${seconds(provider)}\n`)
    expect(body).toContain(`${series}"issuer"} ${seconds(provider)}\n`)
    expect(body).toContain(`${series}"trusted"} ${seconds(before)}\n`)
    expect(body).toContain('{authority="control-plane",role="root"}')
    expect(body).toContain('osm_cert_rotation_stage 0\n')
  })

  it('tell the stage of a rotation', async () => {
    const body = await page({ next: 'BB', sidecars: { count: 3, unconfirmed: ['shop/a', 'shop/b'] } })
    expect(body).toContain('osm_cert_rotation_stage 1\n')
  })

  it('tell that a provider cannot be used', async () => {
    expect(await page({}, { code: 'OSM_CERT_PROVIDER_SETTINGS', message: 'm' })).toContain(
      'osm_cert_rotation_stage 3\n',
    )
  })
})
