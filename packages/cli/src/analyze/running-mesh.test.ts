import { describe, expect, it } from '@jest/globals'
import type { Problem, ProxyStatus } from '@osm-ts/core'

import type { CertificatesReport } from '../certificates/certificates-report.js'
import { analyzeRunningMesh } from './running-mesh.js'

const now = Date.parse('2026-11-27T00:00:00Z')
const root = (expires: string): CertificatesReport => ({
  provider: { name: 'tresor', faults: [] },
  trusted: [{ authority: 'tresor', subject: 'CN=root', fingerprint: 'AA', expires, signs: true, certificates: 1 }],
  certificates: [],
})

describe('analyzeRunningMesh', () => {
  const find = (
    answers: { problems?: readonly Problem[]; statuses?: readonly ProxyStatus[]; certificates?: CertificatesReport },
    isChanged = false,
  ): Promise<readonly Problem[]> =>
    analyzeRunningMesh(
      () =>
        Promise.resolve({
          problems: () => Promise.resolve(answers.problems ?? []),
          statuses: () => Promise.resolve(answers.statuses ?? []),
          certificates: () => Promise.resolve(answers.certificates ?? root('2036-01-01T00:00:00Z')),
        }),
      { now, isChanged },
    )

  it('finds nothing in a mesh that is well', async () => {
    expect(await find({})).toEqual([])
  })

  it('names the object that a refused part came from, and the proxy that refused it', async () => {
    const object = { kind: 'HTTPRouteGroup', namespace: 'shop', name: 'reading' }
    const rejected = [{ kind: 'inbound', id: 'store|80', message: 'bad regex', sources: [{ object, field: 'spec' }] }]
    const status = { name: 'shop/store-1', class: 'envoy', rejected } as unknown as ProxyStatus // what is read of it
    expect(await find({ statuses: [status] })).toEqual([
      {
        code: 'OSM_ANALYZE_PROXY_REJECTED',
        severity: 'error',
        message: 'the envoy sidecar of shop/store-1 refused store|80: bad regex',
        object,
        field: 'spec',
      },
    ])
  })

  it('warns of a root in its last 30 days, and reports one that has expired as an error', async () => {
    const severities = async (expires: string) =>
      (await find({ certificates: root(expires) })).map(({ code, severity }) => [code, severity])
    expect(await severities('2026-12-28T00:00:00Z')).toEqual([])
    expect(await severities('2026-12-26T00:00:00Z')).toEqual([['OSM_ANALYZE_ROOT_EXPIRES', 'warning']])
    expect(await severities('2026-11-26T00:00:00Z')).toEqual([['OSM_ANALYZE_ROOT_EXPIRES', 'error']])
  })

  it('passes on faults of the certificate provider under their own code', async () => {
    const faults = [{ authority: 'vault', code: 'OSM_VAULT_SEALED', severity: 'error', message: 'is sealed' }]
    const certificates = { ...root('2036-01-01T00:00:00Z'), provider: { name: 'vault', faults } }
    expect(await find({ certificates })).toEqual([
      { code: 'OSM_VAULT_SEALED', severity: 'error', message: 'certificate provider vault: is sealed' },
    ])
  })

  it('leaves out what the controller says of objects that are about to change', async () => {
    const driver: Problem = { code: 'OSM_X', severity: 'error', message: 'driver' }
    const object: Problem = { ...driver, object: { kind: 'TrafficSplit', namespace: 'shop', name: 'a' } }
    expect(await find({ problems: [driver, object] })).toEqual([driver, object])
    expect(await find({ problems: [driver, object] }, true)).toEqual([driver])
  })

  it('says that findings are missing where the controller does not answer', async () => {
    const found = await analyzeRunningMesh(() => Promise.reject(new Error('no route')), { now, isChanged: false })
    expect(found).toEqual([
      expect.objectContaining({
        code: 'OSM_ANALYZE_CONTROLLER',
        severity: 'warning',
        message: expect.stringContaining('no route') as unknown,
      }),
    ])
  })
})
