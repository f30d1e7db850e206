import { describe, expect, it } from '@jest/globals'

import { parseProgramFlags } from './program-flags.js'

const mesh = ['--mesh-name=osm', '--osm-namespace=osm-system']

describe('the flags of the certificate providers', () => {
  it('have the defaults of OSM', () => {
    expect(parseProgramFlags(mesh, {})).toMatchObject({
      vaultProtocol: 'http',
      vaultHost: '',
      vaultPort: 8200,
      vaultRole: 'openservicemesh',
      vaultToken: '',
      vaultTokenSecretName: '',
      vaultTokenSecretKey: '',
      certManagerIssuerName: 'osm-ca',
      certManagerIssuerKind: 'Issuer',
      certManagerIssuerGroup: 'cert-manager.io',
    })
  })

  it('are read although their providers are not available', () => {
    const flags = parseProgramFlags([...mesh, '--vault-host=vault', '--vault-port=8201', '--vault-token=s3cret'], {})
    expect(flags).toMatchObject({ vaultHost: 'vault', vaultPort: 8201, vaultToken: 's3cret' })
  })

  it.each(['--vault-port=0', '--vault-protocol=ftp', '--trust-domain=A', '--cluster-domain=-a'])(
    'refuse %s',
    (flag) => {
      expect(() => parseProgramFlags([...mesh, flag], {})).toThrow(
        expect.objectContaining({ code: 'OSM_PROGRAM_FLAG' }),
      )
    },
  )
})
