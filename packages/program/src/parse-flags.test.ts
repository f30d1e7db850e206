import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { parseFlags } from './parse-flags.js'
import { parseProgramFlags } from './program-flags.js'

const definitions = {
  'mesh-name': { kind: 'text', form: 'dns-label', meaning: 'name' },
  level: { kind: 'choice', values: ['low', 'high'], default: 'low', meaning: 'level' },
  'webhook-timeout': { kind: 'number', min: 1, max: 30, default: 20, meaning: 'seconds' },
  'enforce-single-mesh': { kind: 'switch', default: true, meaning: 'one' },
  'vault-token': { kind: 'text', default: '', secret: true, form: 'dns-label', meaning: 'token' },
} as const

const refusal = (...argv: string[]): string => {
  try {
    parseFlags(argv, definitions)
  } catch (error) {
    expect(error).toMatchObject({ code: 'OSM_PROGRAM_FLAG' })
    return (error as Error).message
  }
  throw new Error(`${argv.join(' ')} was accepted`)
}

describe('parseFlags', () => {
  it('takes defaults for what is not given', () => {
    expect(parseFlags(['--mesh-name=osm'], definitions)).toEqual({
      meshName: 'osm',
      level: 'low',
      webhookTimeout: 20,
      enforceSingleMesh: true,
      vaultToken: '',
    })
  })

  it.each([
    [['--mesh-name=a', '--webhook-timeout=5']],
    [['--mesh-name', 'a', '--webhook-timeout', '5']],
    [['--mesh-name=b', '--webhook-timeout=9', '--mesh-name=a', '--webhook-timeout', '5']],
  ])('reads %j', (argv) => {
    expect(parseFlags(argv, definitions)).toMatchObject({ meshName: 'a', webhookTimeout: 5 })
  })

  it.each([
    ['--enforce-single-mesh', true],
    ['--enforce-single-mesh=true', true],
    ['--enforce-single-mesh=1', true],
    ['--enforce-single-mesh=False', false],
    ['--enforce-single-mesh=0', false],
  ])('reads the switch %s', (argument, expected) => {
    expect(parseFlags(['--mesh-name=a', argument], definitions).enforceSingleMesh).toBe(expected)
  })

  it('names the flag and what would be right', () => {
    expect(refusal()).toBe('--mesh-name is required: name')
    expect(refusal('--mesh-name=')).toBe('--mesh-name must not be empty')
    expect(refusal('--mesh-name=A_b')).toContain('--mesh-name="A_b": expected 1 to 63 lower-case')
    expect(refusal('--mesh-nam=a')).toContain('unknown flag "--mesh-nam"; did you mean "mesh-name"?')
    expect(refusal('--mesh-name=a', '--level=mid')).toBe('--level="mid": expected one of low, high')
    expect(refusal('--mesh-name=a', '--webhook-timeout=31')).toContain('a whole number from 1 to 30')
    expect(refusal('--mesh-name=a', '--webhook-timeout=1e1')).toContain('a whole number')
    expect(refusal('--mesh-name=a', '--webhook-timeout=')).toContain('a whole number')
    expect(refusal('--mesh-name=a', '--enforce-single-mesh=maybe')).toContain('true or false')
    expect(refusal('--mesh-name=a', '--webhook-timeout')).toBe('--webhook-timeout needs a value')
    expect(refusal('--mesh-name=a', 'stray')).toContain('"stray" is not a flag')
    expect(refusal('--mesh-name=a', '-v')).toContain('"-v" is not a flag')
    expect(refusal('--mesh-name=a', '--')).toContain('is not a flag')
    expect(refusal('--mesh-name=a', '--__proto__=x')).toContain('unknown flag')
  })

  it('does not repeat a secret', () => {
    expect(refusal('--mesh-name=a', '--vault-token=S3cret_')).not.toContain('S3cret')
  })

  it('gives back any text that is given as a value', () => {
    fc.assert(
      fc.property(fc.string(), fc.boolean(), (text, joined) => {
        const argv = joined ? [`--value=${text}`] : ['--value', text]
        const parsed = parseFlags(argv, { value: { kind: 'text', default: 'x', meaning: '' } })
        expect(parsed.value).toBe(text)
      }),
    )
  })
})

describe('parseProgramFlags', () => {
  const mesh = ['--mesh-name=osm', '--osm-namespace=osm-system']

  it('has the defaults of OSM and the flags of the program', () => {
    const flags = parseProgramFlags([...mesh, '--webhook-config-name=w'], {
      'webhook-config-name': { kind: 'text', meaning: 'name' },
    })
    expect(flags).toMatchObject({
      osmConfigName: 'osm-mesh-config',
      certificateManager: 'tresor',
      caBundleSecretName: 'osm-ca-bundle',
      trustDomain: 'cluster.local',
      enableReconciler: false,
      webhookConfigName: 'w',
    })
  })

  const vault = ['--certificate-manager=vault', '--vault-host=vault']
  const certManager = ['--certificate-manager=cert-manager']

  it.each([
    ['cert-manager without issuer', [...certManager, '--cert-manager-issuer-name='], '--cert-manager-issuer-name'],
    ['cert-manager without kind', [...certManager, '--cert-manager-issuer-kind='], '--cert-manager-issuer-kind'],
    ['a kind that cert-manager lacks', [...certManager, '--cert-manager-issuer-kind=Step'], 'Issuer or ClusterIssuer'],
    ['a Vault without login', vault, 'needs --vault-token-secret-name'],
    ['half a Secret', [...vault, '--vault-token-secret-name=a'], 'together'],
    [
      'two tokens',
      [...vault, '--vault-token=a', '--vault-token-secret-name=a', '--vault-token-secret-key=b'],
      'not both',
    ],
    ['Kubernetes without role', [...vault, '--vault-auth=kubernetes'], '--vault-auth-role'],
    ['AppRole without role id', [...vault, '--vault-auth=appRole', '--vault-token=a'], '--vault-auth-role'],
    ['a token file without path', [...vault, '--vault-auth=tokenFile'], '--vault-token-file'],
  ])('refuses %s by a code of its own', (_what, flags, message) => {
    expect(() => parseProgramFlags([...mesh, ...flags], {})).toThrow(
      expect.objectContaining({ code: 'OSM_PROGRAM_CERTIFICATE_MANAGER', message: expect.stringContaining(message) }),
    )
  })

  it.each([
    [['--vault-token-secret-name=a', '--vault-token-secret-key=b']],
    [['--vault-auth=kubernetes', '--vault-auth-role=osm']],
    [['--vault-auth=tokenFile', '--vault-token-file=/vault/token']],
  ])('takes Vault with %j', (flags) => {
    expect(parseProgramFlags([...mesh, ...vault, ...flags], {})).toMatchObject({
      vaultHost: 'vault',
      vaultMount: 'pki',
    })
  })

  it('refuses a trust domain among the names of services', () => {
    expect(() => parseProgramFlags([...mesh, '--trust-domain=a.svc.cluster.local'], {})).toThrow(
      expect.objectContaining({ code: 'OSM_IDENTITY_DOMAINS_OVERLAP' }),
    )
  })
})
