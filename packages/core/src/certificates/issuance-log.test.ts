import { afterEach, expect, it } from '@jest/globals'
import { OsmError } from '@osm-ts/driver-api'

import { FakeClock } from '../../test/certificates/fake-clock.js'
import { FakeProvider } from '../../test/certificates/fake-provider.js'
import { recordingLogger } from '../../test/certificates/local-authority.js'
import { domains, newProxy, service } from '../../test/certificates/manager-fixture.js'
import { defaultCertificateSettings } from './certificate-settings.js'
import { issuanceLog } from './issuance-log.js'
import { MeshCertificateManager } from './mesh-certificate-manager.js'

const closing = new AbortController()
const lines: string[] = []
const clock = new FakeClock()
const provider = new FakeProvider(clock)
const manager = new MeshCertificateManager({
  provider,
  domains,
  settings: () => defaultCertificateSettings,
  issuanceLog: issuanceLog(recordingLogger(lines)),
  clock,
  random: () => 0.5,
  signal: closing.signal,
})

afterEach(() => {
  lines.length = 0
  provider.failure = undefined
})

it('writes one line for each certificate, with its serial number, subject and proof', async () => {
  const { serialNumber } = await manager.issueCertificate(service('a', 'x'))
  expect(lines).toHaveLength(1)
  for (const part of [
    'info certificate issued',
    '"kind":"service"',
    '"commonName":"a.default.cluster.local"',
    '"uri":"spiffe://cluster.local/a/default"',
    '"authority":"workload"',
    '"provider":"fake"',
    `"serialNumber":"${serialNumber}"`,
    '"proof":"proxy certificate of a sidecar',
  ])
    expect(lines[0]).toContain(part)
  await manager.issueCertificate(newProxy(), { keep: false })
  expect(lines[1]).toContain('"askedBy":"admission of a pod"')
})

it('writes a line for each refusal, with its code and without what the provider says', async () => {
  provider.failure = new OsmError('OSM_CERT_PROVIDER_REFUSED', 'denied; token s.planted-secret')
  await expect(manager.issueCertificate(service('b'))).rejects.toThrow()
  expect(lines[0]).toMatch(/^warn certificate refused .*"code":"OSM_CERT_PROVIDER_REFUSED"/)
  expect(lines[0]).not.toContain('planted')
})

it('never writes a key', async () => {
  const certificate = await manager.issueCertificate(service('c'))
  const [, secret = ''] = certificate.privateKey().split('\n')
  expect(secret.length).toBeGreaterThan(40)
  expect(lines.join('\n')).not.toContain(secret)
  expect(lines.join('\n')).not.toContain('PRIVATE KEY')
  closing.abort()
})
