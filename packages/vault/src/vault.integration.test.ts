import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { certificateNames, issueLeaf, RemoteProvider, systemClock } from '@osm-ts/core'

import { recordingLogger } from '../../core/test/certificates/local-authority.js'
import { providerContract } from '../../core/test/certificates/provider-contract.js'
import { ads, domains, HOUR, service, TresorFixture } from '../../core/test/certificates/tresor-fixture.js'
import { VaultStandIn } from '../test/vault-stand-in.js'
import { VaultAuthority } from './vault-authority.js'
import type { VaultAuth, VaultSettings } from './vault-settings.js'

let vault: VaultStandIn
let folder: string
let closing: AbortController
let authorities: VaultAuthority[]
const lines: string[] = []

beforeAll(async () => {
  vault = await VaultStandIn.start()
  folder = await mkdtemp(join(tmpdir(), 'osm-vault-'))
})

beforeEach(() => {
  closing = new AbortController()
  authorities = []
})

afterEach(async () => {
  closing.abort()
  await Promise.all(authorities.map((each) => each.close()))
  Object.assign(vault, { isSealed: false, maxTtlMs: Number.POSITIVE_INFINITY, allowsUris: true, namespace: undefined })
  Object.assign(vault, { leaseSeconds: 3600, intercept: undefined })
  vault.paths.length = 0
})

afterAll(async () => {
  await vault.stop()
  await rm(folder, { recursive: true })
  // What was logged by all tests, and what an inspection shows.
  for (const secret of vault.secrets) if (secret !== '') expect(lines.join('\n')).not.toContain(secret)
})

function authority(auth: VaultAuth, changes: Partial<VaultSettings> = {}): VaultAuthority {
  const settings = { origin: vault.origin, mount: 'pki', role: 'openservicemesh', auth, ...changes }
  const opened = new VaultAuthority(settings, systemClock)
  authorities.push(opened)
  return opened
}

function open(remote: VaultAuthority): Promise<RemoteProvider> {
  const logger = recordingLogger(lines)
  const options = {
    remote,
    authority: 'workload',
    otherRoots: () => [],
    clock: systemClock,
    random: Math.random,
  } as const
  return RemoteProvider.open({ ...options, logger }, closing.signal)
}

function issue(provider: RemoteProvider): ReturnType<typeof issueLeaf> {
  const request = { ...certificateNames(service, domains), validityMs: HOUR, key: { algorithm: 'ECDSA' } } as const
  return issueLeaf(provider, request, closing.signal)
}

async function failureOf(work: Promise<unknown>): Promise<{ readonly code?: string; readonly message: string }> {
  return work.then(
    () => ({ message: 'no failure' }),
    (error: unknown) => error as Error,
  )
}

function tokenAuth(token = vault.issueToken(3600)): VaultAuth {
  return { kind: 'token', token: async () => token }
}

describe('Vault as a provider', () => {
  providerContract(
    () => open(authority(tokenAuth())),
    () => Date.now(),
  )
})

describe('a token', () => {
  it('is renewed before it expires', async () => {
    vault.leaseSeconds = 1
    const provider = await open(authority(tokenAuth(vault.issueToken(1))))
    await new Promise((resolve) => setTimeout(resolve, 700))
    vault.leaseSeconds = 3600
    await issue(provider)
    expect(vault.paths).toContain('POST auth/token/renew-self')
  })

  it('of a Secret is read again when Vault does not accept it any more', async () => {
    let token = vault.issueToken(3600)
    const provider = await open(authority({ kind: 'token', token: async () => token }))
    vault.revoke(token)
    token = vault.issueToken(3600)
    await expect(issue(provider)).resolves.toMatchObject({ kind: 'service' })
  })

  it('that Vault refuses is reported with what it needs', async () => {
    const token = vault.issueToken(3600)
    const provider = await open(authority(tokenAuth(token)))
    vault.revoke(token)
    const failure = await failureOf(issue(provider))
    expect(failure).toMatchObject({ code: 'OSM_CERT_PROVIDER_REFUSED' })
    expect(failure.message).toContain('needs the capability update on <mount>/sign/<role>')
  })

  it.each(['', 'two words', 'x'.repeat(20_000), 'line\nbreak\u0000'])(
    '%# that no token can be is never sent',
    async (token) => {
      const failure = await failureOf(authority(tokenAuth(token)).caCertificates(closing.signal))
      expect(failure).toMatchObject({ code: 'OSM_CERT_PROVIDER_SETTINGS' })
      if (token !== '') expect(failure.message).not.toContain(token)
      expect(vault.paths).toEqual([])
    },
  )

  it('of a file is read again after the file has changed', async () => {
    const path = join(folder, 'token')
    const first = vault.issueToken(3600)
    await writeFile(path, `${first}\n`)
    const provider = await open(authority({ kind: 'tokenFile', path }))
    await issue(provider)
    vault.revoke(first)
    await writeFile(path, vault.issueToken(3600))
    await expect(issue(provider)).resolves.toMatchObject({ kind: 'service' })
    await rm(path)
    const failure = await failureOf(authority({ kind: 'tokenFile', path }).caCertificates(closing.signal))
    expect(failure.message).toBe(`the token file ${path} cannot be read: ENOENT`)
  })
})

describe('a login', () => {
  it('of Kubernetes sends the token of the service account', async () => {
    vault.kubernetes.jwt = 'header.claims.planted-signature'
    const tokenPath = join(folder, 'jwt')
    await writeFile(tokenPath, vault.kubernetes.jwt)
    const auth = { kind: 'kubernetes', mount: 'kubernetes', role: 'osm-controller', tokenPath } as const
    const provider = await open(authority(auth))
    await issue(provider)
    await issue(provider)
    expect(vault.paths.filter((path) => path.includes('login'))).toHaveLength(1)
    const refused = await failureOf(authority({ ...auth, role: 'other' }).caCertificates(closing.signal))
    expect(refused).toMatchObject({
      code: 'OSM_CERT_PROVIDER_REFUSED',
      message: expect.stringContaining('invalid role name'),
    })
  })

  it('of AppRole sends its secret id, and is repeated when its token is revoked', async () => {
    Object.assign(vault.appRole, { roleId: 'role-1', secretId: 'planted-secret-id' })
    const auth = {
      kind: 'appRole',
      mount: 'approle',
      roleId: 'role-1',
      secretId: async () => 'planted-secret-id',
    } as const
    const provider = await open(authority(auth))
    await issue(provider)
    for (const secret of vault.secrets) if (secret.startsWith('hvs.')) vault.revoke(secret)
    await issue(provider)
    expect(vault.paths.filter((path) => path.includes('login'))).toHaveLength(2)
  })

  it('is shared by requests that come together', async () => {
    Object.assign(vault.appRole, { roleId: 'role-1', secretId: 'planted-secret-id' })
    const auth = {
      kind: 'appRole',
      mount: 'approle',
      roleId: 'role-1',
      secretId: async () => 'planted-secret-id',
    } as const
    const opened = authority(auth)
    await Promise.all(Array.from({ length: 5 }, () => opened.caCertificates(closing.signal)))
    expect(vault.paths.filter((path) => path.includes('login'))).toHaveLength(1)
  })
})

describe('a server that', () => {
  it('is sealed stops issuing, and is asked again', async () => {
    const provider = await open(authority(tokenAuth()))
    vault.isSealed = true
    expect(await failureOf(issue(provider))).toMatchObject({
      code: 'OSM_CERT_PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('HTTP 503: Vault is sealed'),
    })
    expect(provider.faults()).toMatchObject([{ provider: 'vault', code: 'OSM_CERT_PROVIDER_UNAVAILABLE' }])
    vault.isSealed = false
    for (let attempt = 0; attempt < 100 && provider.faults().length > 0; attempt += 1) {
      await issue(provider).catch(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    expect(provider.faults()).toEqual([])
  })

  it('has reached a quota, or is a standby, is unavailable', async () => {
    const provider = await open(authority(tokenAuth()))
    vault.intercept = () => ({ status: 429, body: { errors: ['request path "pki/sign": rate limit quota exceeded'] } })
    expect(await failureOf(issue(provider))).toMatchObject({ code: 'OSM_CERT_PROVIDER_UNAVAILABLE' })
    vault.intercept = () => ({ status: 307, body: {}, headers: { location: 'http://127.0.0.1:1/' } })
    const failure = await failureOf(authority(tokenAuth()).caCertificates(closing.signal))
    expect(failure).toMatchObject({
      code: 'OSM_CERT_PROVIDER_UNAVAILABLE',
      message: expect.stringContaining('standby'),
    })
  })

  it('does not listen is named with its address and no token', async () => {
    const auth = tokenAuth()
    const failure = await failureOf(authority(auth, { origin: 'http://127.0.0.1:1' }).caCertificates(closing.signal))
    expect(failure.message).toBe('Vault at http://127.0.0.1:1 does not answer: ECONNREFUSED')
  })

  it.each([
    ['is not a Vault', '<html>'],
    ['answers a list', []],
    ['answers without a certificate', { data: {} }],
  ])('%s is refused', async (_what, body) => {
    const provider = await open(authority(tokenAuth()))
    vault.intercept = (path) => (path.includes('sign') ? { status: 200, body } : undefined)
    const failure = await failureOf(issue(provider))
    expect(failure.code).toMatch(/^OSM_CERT_(PROVIDER_UNAVAILABLE|ISSUED_CHAIN)$/)
  })

  it('answers too much is cut off', async () => {
    const provider = await open(authority(tokenAuth()))
    vault.intercept = (path) => (path.includes('sign') ? { status: 200, body: 'x'.repeat(1_100_000) } : undefined)
    expect((await failureOf(issue(provider))).message).toContain('more than 1000000 bytes')
  })

  it('repeats a token does not get it into an error', async () => {
    const token = vault.issueToken(3600)
    const provider = await open(authority(tokenAuth(token)))
    vault.intercept = () => ({ status: 400, body: { errors: [`bad token ${token}`] } })
    const { message } = await failureOf(issue(provider))
    expect(message).toContain('bad token [redacted]')
    expect(inspect(provider, { depth: 20 })).not.toContain(token)
  })
})

describe('a role that', () => {
  it('shortens lifetimes is reported', async () => {
    vault.maxTtlMs = HOUR / 4
    const provider = await open(authority(tokenAuth()))
    const certificate = await issue(provider)
    expect(certificate.expiration - Date.now()).toBeLessThan(HOUR / 4 + 1_000)
    expect(provider.faults()).toMatchObject([{ code: 'OSM_CERT_ISSUED_SHORTENED', severity: 'warning' }])
  })

  it('allows no identities is refused with the option that is missing', async () => {
    vault.allowsUris = false
    const failure = await failureOf(issue(await open(authority(tokenAuth()))))
    expect(failure).toMatchObject({ code: 'OSM_CERT_PROVIDER_REFUSED' })
    expect(failure.message).toContain('set allowed_uri_sans=spiffe://<trust domain>/* in the role')
  })
})

it('names its namespace', async () => {
  vault.namespace = 'team-a/mesh'
  await expect(open(authority(tokenAuth(), { namespace: 'team-a/mesh' })).then(issue)).resolves.toMatchObject({
    kind: 'service',
  })
})

it('verifies the server by its roots', async () => {
  const mesh = await TresorFixture.open()
  const { chain, privateKey } = await mesh
    .issue(ads)
    .then((each) => ({ chain: each.chain, privateKey: each.privateKey() }))
  const secure = await VaultStandIn.start({ cert: chain, key: privateKey })
  try {
    const auth = tokenAuth(secure.issueToken(3600))
    const ca = mesh.provider.trustBundle('control-plane').join('')
    await expect(open(authority(auth, { origin: secure.origin, ca })).then(issue)).resolves.toMatchObject({
      kind: 'service',
    })
    const failure = await failureOf(authority(auth, { origin: secure.origin }).caCertificates(closing.signal))
    expect(failure.message).toMatch(/does not answer: (SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)/)
  } finally {
    await secure.stop()
  }
})
