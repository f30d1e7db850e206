import { describe, expect, it } from '@jest/globals'
import { codeOfStart } from './chart/check-flags.js'

/** Flags that the programs of OSM and osm-edge have in common, with values that say what holds without them. */
const common = [
  '--mesh-name=osm',
  '--osm-namespace=osm-system',
  '--osm-version=v1.2.4',
  '--osm-config-name=osm-mesh-config',
  '--verbosity=info',
  '--certificate-manager=tresor',
  '--ca-bundle-secret-name=osm-ca-bundle',
  '--trust-domain=cluster.local',
  '--enable-mesh-root-certificate=false',
  '--enable-reconciler=false',
  '--vault-protocol=http',
  '--vault-host=vault.example',
  '--vault-port=8200',
  '--vault-role=openservicemesh',
  '--vault-token=',
  '--vault-token-secret-name=',
  '--vault-token-secret-key=',
  '--cert-manager-issuer-name=osm-ca',
  '--cert-manager-issuer-kind=Issuer',
  '--cert-manager-issuer-group=cert-manager.io',
]

/** Command lines with every flag that OSM and osm-edge have. */
const commandLines: Readonly<Record<string, readonly string[]>> = {
  'osm-controller': [
    ...common,
    '--osm-service-account=osm',
    '--validator-webhook-config=osm-validator-mesh-osm',
    '--validate-traffic-target=true',
  ],
  'osm-injector': [
    ...common,
    '--webhook-config-name=osm-webhook-osm',
    '--webhook-timeout=20',
    '--osm-container-pull-policy=Always',
  ],
  'osm-bootstrap': common,
  'osm-preinstall': ['--enforce-single-mesh=true', '--namespace=osm-system', '--verbosity=info'],
}

/** With nowhere to go, a program ends here once it has taken its command line. */
const TAKEN = 'OSM_KUBERNETES_CONFIG'

describe('a command line of OSM', () => {
  it.each(Object.entries(commandLines))('is taken by %s', (program, args) => {
    expect(codeOfStart(program, args)).toBe(TAKEN)
  })

  it.each(Object.entries(commandLines))('is taken by %s with blanks for equals signs', (program, args) => {
    // Switches have no value apart, in OSM either.
    const apart = args.flatMap((flag) => (/=(true|false|)$/.test(flag) ? [flag] : flag.split('=')))
    expect(codeOfStart(program, apart)).toBe(TAKEN)
  })

  it.each(Object.keys(commandLines))('with a flag that %s does not have is refused by name', (program) => {
    const args = [...(commandLines[program] ?? []), '--no-such-flag=1']
    expect(codeOfStart(program, args)).toMatch(/^OSM_PROGRAM_FLAG: .*no-such-flag/)
  })

  it.each([
    ['vault', '--vault-token='],
    ['cert-manager', '--cert-manager-issuer-name='],
  ])('that asks %s for certificates without what that needs is refused', (manager, missing) => {
    const args = [
      ...common.filter((flag) => !/^--(certificate-manager|cert-manager-issuer-name)=/.test(flag)),
      `--certificate-manager=${manager}`,
      missing,
    ]
    expect(codeOfStart('osm-controller', args)).toBe('OSM_PROGRAM_CERTIFICATE_MANAGER')
  })
})
