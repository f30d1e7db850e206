import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { connect } from 'node:tls'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  type Credential,
  type PartReport,
  type ProxyCondition,
  type RefusedPeer,
  validateProxyObservation,
} from '@osm-ts/driver-api'
import { hashPart, type Part, PLUGIN_TYPE } from '@osm-ts/driver-api/policy'
import { testAuthority } from '@osm-ts/driver-testkit'

import { RepoFixture, until } from '../../test/repo-fixture.js'
import { documentMaker } from '../document.js'
import { pipyErrorCodes } from '../errors.js'
import { limits } from './limits.js'

let repo: RepoFixture

beforeEach(async () => {
  repo = new RepoFixture()
  await repo.start()
})

afterEach(async () => {
  for (const observation of repo.host.observations) expect(validateProxyObservation(observation)).toEqual([])
  await repo.stop()
})

const folderOf = (uuid: string) => `/repo/osm-edge-sidecar/${uuid}.sidecar.bookbuyer.default/`
const refused = (): readonly RefusedPeer[] =>
  repo.host.observations.flatMap((seen) => ('refused' in seen ? [seen.refused] : []))
/** What is wrong with the only session now, as the host was told last. */
const conditions = (): readonly ProxyCondition[] => {
  const last = repo.host.observations.filter((seen) => 'conditions' in seen).at(-1)
  return last !== undefined && 'conditions' in last ? last.conditions : []
}
const codes = () => conditions().map(({ code }) => code)

describe('an operator sees who was refused', () => {
  const name = 'c0ffee00-0000-4000-8000-000000000001.sidecar.bookbuyer.default.cluster.local'

  it.each<readonly [string, () => Credential | undefined, string, unknown]>([
    ['no certificate', () => undefined, 'OSM_PIPY_CERTIFICATE_REFUSED', 'no certificate was shown'],
    [
      'one of another root of the same name',
      () => testAuthority('control-plane').issue(name),
      'OSM_PIPY_CERTIFICATE_REFUSED',
      'the certificate is not of this control plane (CERT_SIGNATURE_FAILURE)',
    ],
    [
      'one of another root',
      () => testAuthority('elsewhere').issue(name),
      'OSM_PIPY_CERTIFICATE_REFUSED',
      'the certificate is not of this control plane (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    ],
    [
      'one of a workload',
      () => repo.host.services.issue('bookbuyer.default.cluster.local'),
      'OSM_PIPY_CERTIFICATE_REFUSED',
      'the certificate is not of this control plane (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
    ],
    [
      'one that has expired',
      () => repo.host.controlPlane.issue(name, { notAfter: new Date(Date.now() - 60_000) }),
      'OSM_PIPY_CERTIFICATE_EXPIRED',
      'the certificate has expired',
    ],
    [
      'one of another root that has expired',
      () => testAuthority('control-plane').issue(name, { notAfter: new Date(Date.now() - 60_000) }),
      'OSM_PIPY_CERTIFICATE_REFUSED',
      // OpenSSL 3.5, which Node 24 has, looks at the time before the signature.
      expect.stringMatching(
        /^the certificate is not of this control plane \((?:CERT_SIGNATURE_FAILURE|CERT_HAS_EXPIRED)\)$/,
      ),
    ],
  ])('with %s, by its address', async (_what, credential, code, message) => {
    await expect(repo.client(credential()).get(folderOf('x'))).rejects.toThrow()
    await until('the word of it', () => refused().length > 0)
    expect(refused()).toEqual([{ address: '127.0.0.1', code, message }])
    expect(repo.host.logs).toContainEqual(
      expect.objectContaining({ fields: { code, peer: '127.0.0.1', reason: message } }),
    )
    expect([...repo.server.sessions]).toEqual([])
  })

  it('once in the log, however often it tries, and each time in the count', async () => {
    for (let turn = 0; turn < 3; turn += 1) await expect(repo.client(undefined).get('/')).rejects.toThrow()
    await until('the third word', () => refused().length === 3)
    expect(repo.host.logs.filter(({ fields }) => fields.code === 'OSM_PIPY_CERTIFICATE_REFUSED')).toHaveLength(1)
    repo.pass(limits.refusalLogMs + 1)
    await expect(repo.client(undefined).get('/')).rejects.toThrow()
    await until('the fourth word', () => refused().length === 4)
    expect(repo.host.logs.filter(({ fields }) => fields.code === 'OSM_PIPY_CERTIFICATE_REFUSED')).toHaveLength(2)
  })

  it('but not those who connect and go, as checks of health do', async () => {
    const socket = connect({ host: '127.0.0.1', port: repo.server.port, rejectUnauthorized: false })
    socket.on('error', () => undefined)
    socket.destroy()
    await expect(repo.client(undefined).get('/')).rejects.toThrow()
    await until('the word of the other', () => refused().length > 0)
    expect(refused()).toHaveLength(1)
  })

  it('with the certificate of a workload that is not known, or of one that has expired since', async () => {
    const stranger = repo.host.controlPlane.issue(name)
    expect((await repo.client(stranger).get(folderOf('x'))).status).toBe(403)
    expect(refused()).toMatchObject([
      { code: 'OSM_PIPY_WORKER_REFUSED', message: 'the workload of that certificate is not known' },
    ])
    const { uuid, commonName, credential } = repo.host.admitted()
    const client = repo.client(credential)
    await client.get(folderOf(uuid))
    repo.pass(2 * 24 * 60 * 60 * 1000)
    await client.get(folderOf(uuid))
    expect(refused().at(-1)).toMatchObject({ code: 'OSM_PIPY_CERTIFICATE_EXPIRED', commonName })
  })

  it('who requests the codebase of another sidecar, by name', async () => {
    const { uuid, commonName, credential } = repo.host.admitted()
    const other = repo.host.admitted('bookstore.default')
    const foreign = `/repo/osm-edge-sidecar/${other.uuid}.sidecar.bookstore.default/`
    expect((await repo.client(credential).get(`${foreign}main.js`)).status).toBe(403)
    await expect(repo.client(credential).upgrade(`${foreign}${other.uuid}`)).rejects.toThrow('403')
    await expect(repo.client(credential).upgrade(`${folderOf(uuid)}${other.uuid}`)).rejects.toThrow('403')
    expect(refused().map(({ code, commonName: whose }) => [code, whose])).toEqual(
      Array.from({ length: 3 }, () => ['OSM_PIPY_WORKER_REFUSED', commonName]),
    )
  })

  it('who plays tricks with paths, by name, and not without end', async () => {
    const { uuid, commonName, credential } = repo.host.admitted()
    const client = repo.client(credential)
    for (let turn = 0; turn < 8; turn += 1) {
      const { status, headers } = await client.get(`${folderOf(uuid)}..%2fmain.js`)
      expect([status, headers.connection]).toEqual([400, turn === 5 ? 'close' : 'keep-alive'])
    }
    // The sixth ended the connection, and on the next one it is told of again.
    expect(refused()).toHaveLength(7)
    expect(refused()[0]).toMatchObject({
      code: 'OSM_PIPY_REQUEST_INVALID',
      commonName,
      message: 'no path of this server',
    })
    expect((await client.send('POST', `${folderOf(uuid)}main.js`)).status).toBe(405)
    expect((await client.get('/plugins')).status).toBe(405)
  })
})

describe('an operator sees what is wrong with a worker, for as long as it is', () => {
  it('that refuses its configuration', async () => {
    const admitted = repo.host.admitted()
    repo.worker(admitted, {
      apply: ({ says }) => {
        if (says === 'bad') throw new Error('no, and -----BEGIN PRIVATE KEY-----\nabc')
      },
    })
    await until('the first policy', () => repo.host.reports.some(({ complete }) => complete))
    repo.host.say(admitted.uuid, 'bad')
    await until('the condition', () => codes().includes('OSM_PIPY_CONFIG_REFUSED'))
    expect(conditions()[0]?.message).toMatch(/^refuses configuration [\w-]+: Error: no, and \[redacted\]$/)
    repo.host.say(admitted.uuid, 'good')
    await until('its end', () => codes().length === 0)
  })

  it('whose policy cannot be translated', async () => {
    const admitted = repo.host.admitted()
    repo.worker(admitted)
    await until('the first policy', () => repo.host.reports.some(({ complete }) => complete))
    repo.host.say(admitted.uuid, 'untranslatable')
    await until('the condition', () => codes().includes('OSM_PIPY_TRANSLATION'))
    repo.host.say(admitted.uuid, 'good')
    await until('its end', () => codes().length === 0)
  })

  it('that never acknowledges', async () => {
    const worker = repo.worker(repo.host.admitted(), { silent: true })
    await until('the document', () => worker.documents.length === 1)
    expect(codes()).toEqual([])
    repo.pass(14_000)
    // The one that is under way may have been heard before: then the worker would be silent for too long.
    const statuses = () => repo.host.metrics.get('osm_pipy_repo_request_count status 201') ?? 0
    const before = statuses()
    await until('two more statuses', () => statuses() >= before + 2)
    repo.pass(1_100)
    await until('the condition', () => codes().includes('OSM_PIPY_NOT_ACKNOWLEDGED'))
    expect(conditions()[0]?.message).toMatch(/^lacks its config since \d{4}-/)
  })

  it('that lost a download because the repo started again in the middle of it', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until('the first load', () => worker.loads === 1 && worker.revision !== '')
    // It fetches the list and no file, as one whose connection breaks.
    await repo.client(admitted.credential).get(folderOf(admitted.uuid))
    repo.pass(15_100)
    await until('the condition', () => JSON.stringify(repo.host.observations).includes('OSM_PIPY_DOWNLOAD_LOST'))
    await until('its end', () => codes().length === 0)
  })

  it('that another one shares the certificate with', async () => {
    const admitted = repo.host.admitted()
    repo.worker(admitted, { since: 100 })
    const second = repo.worker(admitted, { since: 200 })
    await until('the condition', () => codes().includes('OSM_PIPY_DUPLICATE_WORKER'))
    expect(conditions()[0]?.message).toBe('2 workers use its certificate')
    await second.stop()
    repo.pass(15_100)
    await until('its end', () => codes().length === 0)
  })
})

describe('an operator sees plugins', () => {
  const plugin = (script: string): Part =>
    ({
      kind: 'extension',
      id: 'plugin/mine',
      class: 'pipy',
      type: PLUGIN_TYPE,
      value: { plugin: 'mine', priority: 1, chains: ['inbound-http'], script, configs: [] },
    }) as unknown as Part
  const give = (uuid: string, script: string): number => {
    const part = plugin(script)
    return repo.host.publishPolicy(uuid, { extensions: [hashPart(part)] }, [part])
  }
  /** What became of the plugin, as the host was told last. */
  const told = (): PartReport | undefined =>
    repo.host.reports.flatMap(({ parts }) => parts).findLast(({ id }) => id === 'plugin/mine')
  const say = async (admitted: { readonly credential: Parameters<RepoFixture['client']>[0] }, faults: unknown) =>
    (await repo.client(admitted.credential).send('POST', '/plugins', JSON.stringify(faults))).status

  it('that cannot be loaded, as a part that is rejected, until there is another script', async () => {
    const admitted = repo.host.admitted()
    give(admitted.uuid, 'one')
    repo.worker(admitted)
    await until('the policy', () => repo.host.reports.some(({ complete }) => complete))
    const fault = { plugin: 'mine', isLoaded: false, failures: 1, error: 'no such thing' }
    expect(await say(admitted, [fault])).toBe(204)
    expect(await say(admitted, [fault])).toBe(204)
    expect(codes()).toEqual(['OSM_PIPY_PLUGIN_NOT_LOADED'])
    expect(conditions()[0]?.message).toBe('mine cannot be loaded, and refuses what comes to it: no such thing')
    expect(repo.host.reports.at(-1)).toMatchObject({ complete: false })
    expect(told()).toMatchObject({
      state: 'rejected',
      element: '/value/script',
      message: 'cannot be loaded: no such thing',
    })
    expect(repo.host.metrics.get('osm_pipy_plugin_fault_count load')).toBe(1)
    const step = give(admitted.uuid, 'two')
    expect(await say(admitted, [])).toBe(204)
    await until('the next policy', () =>
      repo.host.reports.some(({ revision, complete }) => complete && revision === step),
    )
    expect(codes()).toEqual([])
  })

  it('that throw or take too many steps, for as long as they do', async () => {
    const admitted = repo.host.admitted()
    give(admitted.uuid, 'one')
    repo.worker(admitted)
    await until('the policy', () => repo.host.reports.some(({ complete }) => complete))
    const fault = { plugin: 'mine', isLoaded: true, failures: 3, error: 'takes too many steps' }
    await say(admitted, [fault])
    await say(admitted, [{ ...fault, failures: 5 }])
    expect(conditions()).toEqual([
      { code: 'OSM_PIPY_PLUGIN_FAILED', message: 'mine has failed 5 times, last by: takes too many steps' },
    ])
    expect(repo.host.metrics.get('osm_pipy_plugin_fault_count run')).toBe(5)
    // It works all the same, for others.
    expect(told()).toMatchObject({ state: 'applied' })
    repo.pass(limits.pluginFailureMs + 1)
    await until('its end', () => codes().length === 0)
  })

  it.each([
    ['5 MB', 'x'.repeat(5_000_000), 'mine has 5000000 bytes; at most 1000000 go out'],
    ['a loop without bounds', 'for (;;) {}', 'mine line 1: Pipy reads loops with all three parts only'],
  ])('that are held back: %s', async (_what, script, message) => {
    await repo.restart({ make: documentMaker() })
    const admitted = repo.host.admit('c0ffee00-0000-4000-8000-000000000001')
    const uuid = 'c0ffee00-0000-4000-8000-000000000001'
    const trust = {
      kind: 'trust',
      id: 'trust',
      roots: [],
      minVersion: 'TLSv1_2',
      maxVersion: 'TLSv1_3',
      cipherSuites: [],
      ecdhCurves: [],
      alpn: 'osm',
    } as unknown as Part
    const mesh = {
      kind: 'mesh',
      id: 'mesh',
      accessLog: { enabled: false },
      tcpIdleTimeoutMs: 1,
      streamIdleTimeoutMs: 1,
      withdrawalTimeoutMs: 1,
      requestMetrics: false,
      egressEnabled: false,
    } as unknown as Part
    const part = plugin(script)
    repo.host.publishPolicy(uuid, { extensions: [hashPart(part)], trust: hashPart(trust), mesh: hashPart(mesh) }, [
      part,
      trust,
      mesh,
    ])
    repo.worker({ uuid, credential: admitted.credential })
    await until('the condition', () => codes().includes('OSM_PIPY_PLUGIN_REFUSED'))
    expect(conditions()).toEqual([{ code: 'OSM_PIPY_PLUGIN_REFUSED', message }])
    await until('the report', () => told() !== undefined)
    expect(told()).toMatchObject({ state: 'rejected', element: '/value/script' })
  })

  it('of no one: what is not a report, or too long, or of a plugin that the policy does not have', async () => {
    const admitted = repo.host.admitted()
    repo.worker(admitted)
    await until('the policy', () => repo.host.reports.some(({ complete }) => complete))
    const fault = { plugin: 'mine', isLoaded: false, failures: 1, error: '' }
    for (const body of [
      {},
      7,
      [7],
      [{ ...fault, failures: -1 }],
      [{ ...fault, failures: 1e300 }],
      [{ plugin: 'mine' }],
    ])
      expect([body, await say(admitted, body)]).toEqual([body, 400])
    expect(
      await say(
        admitted,
        Array.from({ length: 1000 }, () => fault),
      ),
    ).toBe(400)
    expect(await say(admitted, [fault])).toBe(204)
    expect(codes()).toEqual([])
  })
})

describe('docs/guides/pipy.md', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../../docs/guides/pipy.md', import.meta.url)), 'utf8')
  const [, table = ''] = /## When something is wrong\n([^]*?)\n## /.exec(page) ?? []
  const shown = [...table.matchAll(/`(OSM_[A-Z_]+)`/g)].map(([, code]) => code)

  it('lists every code that osm proxy status may show, and no other of this driver', () => {
    // The rest is of the control plane itself and is in its log.
    const own = Object.keys(pipyErrorCodes).filter((code) => code !== 'OSM_PIPY_TRUST')
    expect([...new Set(shown)].filter((code) => code?.startsWith('OSM_PIPY_')).sort()).toEqual(own.sort())
  })

  it('names only codes that there are', () => {
    const reference = readFileSync(
      fileURLToPath(new URL('../../../../docs/reference/errors.md', import.meta.url)),
      'utf8',
    )
    expect(shown.filter((code) => !reference.includes(`| \`${code}\` |`))).toEqual([])
  })
})
