import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  createLogger,
  generateRoot,
  MemoryCaStore,
  parseMeshDomains,
  SnapshotFeed,
  systemClock,
  TresorProvider,
  YamlFolderSource,
} from '@osm-ts/core'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { parseControllerFlags } from '../controller-flags.js'
import { providerOpener } from './provider-opener.js'
import {
  choiceOfFlags,
  choicesOfObjects,
  type ProviderChoice,
  type ProviderChoices,
  resumedChoices,
} from './provider-choice.js'

const NAMESPACE = 'osm-system'
const rootObjects = { osmNamespace: NAMESPACE, trustDomain: 'cluster.local' }
const vault = { host: '127.0.0.1', port: 1, role: 'osm', protocol: 'http', auth: { kind: 'token' } } as const
const secretOf = (namespace: string) => ({ secretKeyRef: { name: 'vault', namespace, key: 'token' } })

let folder: string
let closing: AbortController
let builtIn: TresorProvider
let server: Server
let workloadRoot: string
const asked: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-provider-'))
  const rootKey = { algorithm: 'ECDSA' } as const
  builtIn = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey })
  const ofVault = await TresorProvider.open({ store: new MemoryCaStore(), clock: systemClock, rootKey })
  workloadRoot = ofVault.trustBundle('workload').join('')
  ofVault.close()
  server = createServer((request, response) => {
    asked.push(`${request.url ?? ''} ${String(request.headers['x-vault-token'] ?? '')}`)
    response.end(request.url?.includes('token') ? '{"data":{"ttl":0}}' : workloadRoot)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

beforeEach(() => {
  closing = new AbortController()
  asked.length = 0
})

afterEach(() => {
  closing.abort()
})

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  builtIn.close()
  await rm(folder, { recursive: true })
})

function open(
  choice: ProviderChoice,
  secrets: Readonly<Record<string, string>> = {},
  cluster?: Parameters<typeof providerOpener>[0]['cluster'],
) {
  const opener = providerOpener({
    builtIn,
    choose: () => ({ active: choice, passive: [] }),
    osmNamespace: NAMESPACE,
    domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
    readSecret: async ({ name, key }) => secrets[`${name}/${key}`],
    ...(cluster === undefined ? {} : { cluster }),
    clock: systemClock,
    random: Math.random,
    logger: createLogger('test', 'disabled', { write: () => undefined }),
  })
  return opener(new SnapshotFeed([]), closing.signal)
}

function flags(...more: readonly string[]): ProviderChoice {
  const mesh = ['--mesh-name=m', `--osm-namespace=${NAMESPACE}`]
  return choiceOfFlags(parseControllerFlags([...mesh, ...more]))
}

describe('the flags', () => {
  it('choose the built-in authority by default', async () => {
    expect(flags()).toEqual({ kind: 'tresor' })
    expect((await open(flags())).provider.rootCertificate('workload')).toBe(builtIn.rootCertificate('workload'))
  })

  it('choose Vault with the login and the Secret that they name', () => {
    const login = ['--vault-auth=appRole', '--vault-auth-role=r', '--vault-token-secret-name=s']
    expect(
      flags('--certificate-manager=vault', '--vault-host=vault', ...login, '--vault-token-secret-key=k'),
    ).toMatchObject({
      kind: 'vault',
      vault: {
        host: 'vault',
        port: 8200,
        mount: 'pki',
        auth: { kind: 'appRole', role: 'r' },
        token: { secretKeyRef: { name: 's', namespace: NAMESPACE, key: 'k' } },
      },
    })
  })

  it('choose the issuer of cert-manager, and the roots that it may sign under', () => {
    const issuer = ['--cert-manager-issuer-name=i', '--cert-manager-issuer-kind=ClusterIssuer']
    expect(flags('--certificate-manager=cert-manager', ...issuer, '--cert-manager-ca-secret-name=roots')).toEqual({
      kind: 'cert-manager',
      certManager: {
        issuerName: 'i',
        issuerKind: 'ClusterIssuer',
        issuerGroup: 'cert-manager.io',
        ca: { secretRef: { name: 'roots', namespace: NAMESPACE } },
      },
    })
  })

  it('must name the host of Vault', () => {
    expect(() => flags('--certificate-manager=vault')).toThrow('--certificate-manager=vault needs --vault-host')
  })
})

describe('MeshRootCertificates', () => {
  async function chosen(...documents: readonly string[]): Promise<ProviderChoices> {
    await writeFile(join(folder, 'roots.yaml'), documents.join('---\n'))
    const feed = new SnapshotFeed([new YamlFolderSource({ folder })])
    await feed.start(closing.signal)
    return choicesOfObjects(feed.current(), rootObjects)
  }

  const root = (name: string, role: string, provider: string, namespace = NAMESPACE): string =>
    `apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshRootCertificate
metadata: { name: ${name}, namespace: ${namespace} }
spec: { ${role}provider: ${provider} }
`
  const vaultAt = (host: string): string =>
    `{ vault: { host: ${host}, port: 8200, role: osm, protocol: https, auth: { kind: kubernetes, role: r } } }`
  const tresor = '{ tresor: { ca: { secretRef: { name: osm-ca-bundle, namespace: osm-system } } } }'

  it('choose the provider of the active one, and only in the namespace of the control plane', async () => {
    const passive = root('a', 'role: passive, ', vaultAt('passive.example'))
    const elsewhere = root('b', 'role: active, ', vaultAt('foreign.example'), 'tenant')
    const passiveHost = [{ vault: { host: 'passive.example' } }]
    await expect(chosen(passive, elsewhere)).resolves.toMatchObject({
      active: { kind: 'tresor' },
      passive: passiveHost,
    })
    await expect(chosen(passive, root('c', 'role: active, ', vaultAt('own.example')))).resolves.toMatchObject({
      active: { vault: { host: 'own.example' } },
      passive: passiveHost,
    })
    const builtIn = { active: { kind: 'tresor' }, passive: [] }
    await expect(chosen(root('d', '', tresor))).resolves.toMatchObject(builtIn)
    await expect(chosen(root('d', 'role: inactive, ', vaultAt('unused.example')))).resolves.toMatchObject(builtIn)
  })

  it('that are both active are refused, and so are more than three passive ones', async () => {
    const active = (name: string): string => root(name, 'role: active, ', tresor)
    await expect(chosen(active('a'), active('b'))).rejects.toMatchObject({
      code: 'OSM_CERT_PROVIDER_SETTINGS',
      message: expect.stringContaining(
        'MeshRootCertificate osm-system/a and MeshRootCertificate osm-system/b: one signs',
      ),
    })
    const passive = ['a', 'b', 'c', 'd'].map((name) => root(name, 'role: passive, ', tresor))
    await expect(chosen(...passive)).rejects.toThrow('at most 3 may be passive')
  })

  it('of another trust domain sign nothing, and their roots are not trusted', async () => {
    const foreign = 'trustDomain: other.example, '
    await expect(chosen(root('a', foreign, tresor))).rejects.toMatchObject({
      code: 'OSM_SPEC_TRUST_DOMAIN',
      message:
        'MeshRootCertificate osm-system/a: spec.trustDomain: must be cluster.local, that of the mesh, got "other.example"',
    })
    await expect(chosen(root('b', `${foreign}role: passive, `, vaultAt('v.example')))).resolves.toMatchObject({
      passive: [],
    })
  })

  it('choose a root of the built-in authority by its Secret', async () => {
    const next = '{ tresor: { ca: { secretRef: { name: osm-ca-bundle-next, namespace: osm-system } } } }'
    await expect(chosen(root('a', '', next))).resolves.toMatchObject({
      active: { kind: 'tresor', secretRef: { name: 'osm-ca-bundle-next', namespace: NAMESPACE } },
    })
  })

  it('start a controller with what the leader let sign before, until it lets the active one', async () => {
    const choices = await chosen(
      root('a', 'role: active, ', vaultAt('next.example')),
      root('b', 'role: passive, ', vaultAt('before.example')),
    )
    const record = (isIssuing: boolean) => ({ generation: 2, state: undefined, isIssuing, decidedFor: 2 })
    const before = resumedChoices(choices, (name) => record(name === 'b'))
    expect(before).toMatchObject({
      active: { vault: { host: 'before.example' } },
      names: { active: 'b', passive: ['a'] },
    })
    expect(resumedChoices(choices, (name) => record(name === 'a'))).toBe(choices)
    expect(resumedChoices(choices, () => undefined)).toBe(choices)
  })

  it('choose an issuer of cert-manager', async () => {
    const certManager = { issuerName: 'i', issuerKind: 'Step', issuerGroup: 'step.sm' }
    await expect(chosen(root('a', '', JSON.stringify({ certManager })))).resolves.toMatchObject({
      active: { kind: 'cert-manager', certManager },
    })
  })

  it('that name no provider are refused, and nothing else signs instead', async () => {
    await expect(chosen(root('a', '', '{}'))).rejects.toThrow('must have exactly one of')
  })
})

describe('opening cert-manager', () => {
  const certManager = { issuerName: 'i', issuerKind: 'Issuer', issuerGroup: 'cert-manager.io' }

  it('needs a cluster', async () => {
    await expect(open({ kind: 'cert-manager', certManager })).rejects.toMatchObject({
      code: 'OSM_CERT_PROVIDER_SETTINGS',
      message: expect.stringContaining('needs a Kubernetes cluster'),
    })
  })

  it('never reads roots of another namespace', async () => {
    const ca = { secretRef: { name: 'roots', namespace: 'tenant' } }
    const cluster = { api: undefined as never, meshName: 'm', serviceAccount: 'osm-controller' } // refused before it is asked
    await expect(open({ kind: 'cert-manager', certManager: { ...certManager, ca } }, {}, cluster)).rejects.toThrow(
      `Secret tenant/roots with the roots of the issuer must be in namespace ${NAMESPACE}`,
    )
  })
})

describe('opening the built-in authority with a root of a Secret', () => {
  const secretRef = { name: 'next', namespace: NAMESPACE }

  async function secretOfRoot(authority: 'workload' | 'control-plane'): Promise<Readonly<Record<string, string>>> {
    const { certificate, privateKey } = await generateRoot(authority, { algorithm: 'ECDSA' }, Date.now())
    return { 'next/ca.crt': certificate, 'next/private.key': privateKey }
  }

  it('signs with that root', async () => {
    const secrets = await secretOfRoot('workload')
    const opened = await open({ kind: 'tresor', secretRef }, secrets)
    expect(opened.provider.trustBundle('workload').map((pem) => pem.trim())).toEqual([secrets['next/ca.crt']?.trim()])
    expect(opened.provider.rootCertificate('control-plane')).toBe(builtIn.rootCertificate('control-plane'))
    closing.abort()
    await opened.stopped
  })

  it('refuses the root of the control plane, also beside the one that signs', async () => {
    const secrets = await secretOfRoot('workload')
    const both = `${secrets['next/ca.crt'] ?? ''}${builtIn.trustBundle('control-plane').join('')}`
    await expect(open({ kind: 'tresor', secretRef }, { ...secrets, 'next/ca.crt': both })).rejects.toMatchObject({
      code: 'OSM_CERT_CA_SHARED',
    })
  })

  it('names the Secret that is missing, or lies in another namespace', async () => {
    await expect(open({ kind: 'tresor', secretRef })).rejects.toThrow(
      'Secret osm-system/next with key ca.crt for the built-in authority is missing',
    )
    const elsewhere = { name: 'next', namespace: 'tenant' }
    await expect(open({ kind: 'tresor', secretRef: elsewhere })).rejects.toThrow('must be in namespace osm-system')
  })
})

describe('opening Vault', () => {
  it.each<[string, Partial<typeof vault> | object, string]>([
    ['a host with a path', { host: 'vault/v1' }, 'is not a host name or address'],
    ['a host with a user', { host: 'user@vault' }, 'is not a host name or address'],
    ['a host that ends before its port', { host: 'vault#' }, 'is not a host name or address'],
    ['a host with a query', { host: 'vault?' }, 'is not a host name or address'],
    ['a role that changes the path', { role: '../sys?x' }, 'is not a path or role of Vault'],
    ['a role that leaves the engine', { role: '../../sys/seal' }, 'is not a path or role of Vault'],
    ['a namespace of two lines', { namespace: 'a\r\nx-vault-token: b' }, 'is not a namespace of Vault'],
    ['roots that are not certificates', { caBundle: 'roots' }, 'spec.provider.vault.caBundle contains no certificate'],
  ])('refuses %s', async (_what, changes, message) => {
    await expect(open({ kind: 'vault', vault: { ...vault, ...changes } })).rejects.toMatchObject({
      code: 'OSM_CERT_PROVIDER_SETTINGS',
      message: expect.stringContaining(message),
    })
  })

  it('refuses a file of roots that is not there', async () => {
    const caFile = join(folder, 'none')
    await expect(open({ kind: 'vault', vault, caFile })).rejects.toThrow(`the file ${caFile} with the roots of Vault`)
  })

  it('signs for workloads by Vault and for the control plane by the built-in authority', async () => {
    const { port } = server.address() as AddressInfo // it listens on a port
    const opened = await open(
      { kind: 'vault', vault: { ...vault, port, token: secretOf(NAMESPACE) } },
      { 'vault/token': 'hvs.token-of-the-secret' },
    )
    expect(opened.provider.name).toBe('vault')
    expect(opened.provider.trustBundle('workload').join('')).toBe(workloadRoot)
    expect(opened.provider.rootCertificate('control-plane')).toBe(builtIn.rootCertificate('control-plane'))
    expect(asked).toEqual([
      '/v1/auth/token/lookup-self hvs.token-of-the-secret',
      '/v1/pki/ca_chain ',
      '/v1/pki/ca/pem ',
    ])
    closing.abort()
    await opened.stopped
  })

  it('never sends a Secret of another namespace', async () => {
    const { port } = server.address() as AddressInfo // it listens on a port
    const opening = open(
      { kind: 'vault', vault: { ...vault, port, token: secretOf('tenant') } },
      { 'vault/token': 'hvs.token-of-a-tenant' },
    )
    closing.abort(new Error('enough'))
    await expect(opening).rejects.toThrow('enough')
    expect(asked.join()).not.toContain('tenant')
  })
})

describe('another choice while the controller runs', () => {
  it('is taken up, and one that cannot be opened changes nothing', async () => {
    const roots = await mkdtemp(join(tmpdir(), 'osm-choices-'))
    const { port } = server.address() as AddressInfo // it listens on a port
    const write = (host: string, role: string) =>
      writeFile(
        join(roots, 'root.yaml'),
        `apiVersion: config.openservicemesh.io/v1alpha2
kind: MeshRootCertificate
metadata: { name: vault, namespace: ${NAMESPACE} }
spec:
  role: ${role}
  provider:
    vault:
      { host: ${host}, port: ${port}, role: osm, protocol: http, token: { secretKeyRef: { name: vault, namespace: ${NAMESPACE}, key: token } } }
`,
      )
    const feed = new SnapshotFeed([new YamlFolderSource({ folder: roots })])
    await feed.start(closing.signal)
    const opener = providerOpener({
      builtIn,
      choose: () => choicesOfObjects(feed.current(), rootObjects),
      osmNamespace: NAMESPACE,
      domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
      readSecret: async () => 'hvs.token',
      clock: systemClock,
      random: Math.random,
      logger: createLogger('test', 'disabled', { write: () => undefined }),
    })
    const { provider, stopped } = await opener(feed, closing.signal)
    const codes = () => provider.faults().map(({ code }) => code)
    const trusted = () => provider.trustBundle('workload').length
    expect(trusted()).toBe(1)
    await write('vault/v1', 'passive')
    await eventually(codes, (found) => found.includes('OSM_CERT_PROVIDER_SETTINGS'))
    expect(trusted()).toBe(1)
    await write('127.0.0.1', 'passive')
    await eventually(
      () => `${trusted()} ${codes().join()}`,
      (found) => found === '2 ',
    )
    expect(provider.name).toBe('tresor')
    closing.abort()
    await stopped
    await rm(roots, { recursive: true })
  })
})
