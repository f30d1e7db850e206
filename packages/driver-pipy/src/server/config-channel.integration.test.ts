import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { validateApplyReport } from '@osm-ts/driver-api'

import { RepoFixture, until } from '../../test/repo-fixture.js'
import { codebaseOf } from '../../test/mesh.js'

let repo: RepoFixture

beforeEach(async () => {
  repo = new RepoFixture()
  await repo.start()
})

afterEach(async () => {
  for (const report of repo.host.reports) expect(validateApplyReport(report)).toEqual([])
  await repo.stop()
})

const complete = (step: number) => repo.host.reports.some(({ revision, complete }) => complete && revision === step)
const logged = (code: string) => repo.host.logs.some(({ fields }) => fields.code === code)
const session = () => {
  const [found] = repo.server.sessions
  if (found === undefined) throw new Error('there is no session')
  return found
}

describe('a policy', () => {
  it('is in force, and the host knows, as soon as the worker requests the next one', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until('the first policy', () => complete(1))
    expect(JSON.parse(worker.documents[0] ?? '')).toMatchObject({ says: 'hello', revision: worker.revision })
    const step = repo.host.say(admitted.uuid, 'world')
    await until('the second policy', () => complete(step))
    expect(JSON.parse(worker.documents.at(-1) ?? '')).toMatchObject({ says: 'world' })
    expect(repo.host.reports.at(-1)?.parts).toEqual([expect.objectContaining({ id: 'says world', state: 'applied' })])
    expect(worker.loads).toBe(1)
  })

  it('that says the same is not sent, and is in force all the same', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until('the first policy', () => complete(1))
    const step = repo.host.say(admitted.uuid, 'hello', { addresses: ['127.0.0.9'] })
    await until('the second step', () => complete(step))
    expect(worker.documents).toHaveLength(1)
  })

  it('goes on from where it was when the server returns knowing nothing: equal content is not sent', async () => {
    const worker = repo.worker(repo.host.admitted())
    await until('the first policy', () => complete(1))
    const before = repo.host.reports.length
    await repo.restart()
    await until('a report after that', () => repo.host.reports.length > before)
    expect(repo.host.reports.at(-1)).toMatchObject({ complete: true })
    expect(worker.documents).toHaveLength(1)
  })

  it('that no one changes answers a poll after a while, and so does one that no one has', async () => {
    await repo.restart({ timing: { pollTimeoutMs: 100, writeTimeoutMs: 30_000, sweepMs: 20 } })
    const { uuid, credential } = repo.host.admitted()
    const client = repo.client(credential)
    const first = await client.get('/config?rev=')
    expect(first).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
    const revision = String(first.headers['osm-revision'])
    expect(JSON.parse(first.body)).toMatchObject({ revision })
    expect((await client.get(`/config?rev=${revision}`)).status).toBe(204)
    const other = repo.host.admit('c0ffee00-0000-4000-8000-000000000001')
    expect((await repo.client(other.credential).get('/config?rev=')).status).toBe(204)
    expect(uuid).not.toBe('')
  })

  it('is requested in a way that is understood, or not at all', async () => {
    const client = repo.client(repo.host.admitted().credential)
    for (const query of ['rev=%0d%0a', `rev=${'x'.repeat(200)}`, 'rev=a&refused=%3Cscript%3E'])
      expect((await client.get(`/config?${query}`)).status).toBe(400)
  })

  it('that cannot be translated leaves what is in force, and the host is told why', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until('the first policy', () => complete(1))
    const step = repo.host.say(admitted.uuid, 'untranslatable')
    await until('the complaint', () => logged('OSM_PIPY_TRANSLATION'))
    expect(repo.host.reports.at(-1)).toMatchObject({
      revision: step,
      complete: false,
      parts: [{ state: 'rejected', message: 'that cannot be said' }],
    })
    expect(worker.documents).toHaveLength(1)
    const last = repo.host.say(admitted.uuid, 'fine')
    await until('the next policy', () => complete(last))
    // What it took goes with the reports.
    const work = repo.host.reports.flatMap((report) => report.work ?? [])
    for (const stage of ['translateMs', 'encodeMs', 'sendMs', 'bytes'] as const)
      expect(work.reduce((total, { [stage]: amount }) => total + amount, 0)).toBeGreaterThan(0)
  })
})

describe('a policy that Pipy cannot do in full', () => {
  it('is in force without that, and the host knows what', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until('the first policy', () => complete(1))
    const step = repo.host.say(admitted.uuid, 'too much')
    await until('the report', () => repo.host.reports.at(-1)?.revision === step)
    expect(repo.host.reports.at(-1)).toMatchObject({
      complete: false,
      parts: [{ id: 'says too much', state: 'rejected', message: 'Pipy cannot', element: '/value' }],
    })
    expect(worker.documents).toHaveLength(2)
  })
})

describe('a worker that refuses', () => {
  it('keeps what it has, is not sent it again, and takes the next one', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted, {
      apply: ({ says }) => {
        if (says === 'bad') throw new Error('no: -----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----')
      },
    })
    await until('the first policy', () => complete(1))
    const before = worker.revision
    const step = repo.host.say(admitted.uuid, 'bad')
    await until('the refusal', () => logged('OSM_PIPY_CONFIG_REFUSED'))
    const [part] = repo.host.reports.at(-1)?.parts ?? []
    expect(repo.host.reports.at(-1)).toMatchObject({ revision: step, complete: false })
    expect(part).toMatchObject({ id: 'says bad', state: 'rejected', message: 'Error: no: [redacted]' })
    expect(worker.revision).toBe(before)
    expect(worker.documents).toHaveLength(2)
    // Its certificate is replaced meanwhile: it comes with the policy that was taken.
    repo.host.rotateIdentity('bookbuyer.default')
    await until('the certificate', () => worker.documents.length === 3)
    expect(JSON.parse(worker.documents[2] ?? '')).toMatchObject({ says: 'hello' })
    await until('its acknowledgement', () => session().describe().acknowledged === worker.revision)
    expect(complete(step)).toBe(false)
    const last = repo.host.say(admitted.uuid, 'good')
    await until('the next policy', () => complete(last))
    expect(worker.documents).toHaveLength(4)
    expect(await repo.host.everythingSaid()).not.toContain('PRIVATE KEY')
  })
})

describe('a private key', () => {
  it('goes to its own identity only, and is in no file, report, log or page', async () => {
    const admitted = repo.host.admitted()
    const other = repo.host.admitted('bookstore.default')
    const worker = repo.worker(admitted)
    await until('the policy', () => complete(1))
    const { key } = (JSON.parse(worker.documents[0] ?? '') as { credentials: { key: string } }).credentials
    expect(key).toContain('PRIVATE KEY')
    const folder = `/repo/osm-edge-sidecar/${admitted.uuid}.sidecar.bookbuyer.default/`
    const file = await repo.client(admitted.credential).get(`${folder}config.json`)
    expect(JSON.parse(file.body)).toMatchObject({ says: 'hello', revision: file.headers.etag })
    expect(file.body).not.toContain('PRIVATE KEY')
    expect(file.headers['cache-control']).toBe('no-store')
    expect((await repo.client(other.credential).get(`${folder}config.json`)).status).toBe(403)
    const foreign = await repo.client(other.credential).get('/config?rev=')
    expect(foreign.body).not.toContain(key.split('\n')[1])
    const [shown] = [...repo.server.sessions].map((found) => JSON.stringify(found.describe()))
    expect(`${await repo.host.everythingSaid()}${shown}`).not.toContain('PRIVATE KEY')
  })

  it('is replaced live', async () => {
    const worker = repo.worker(repo.host.admitted())
    await until('the policy', () => complete(1))
    const { privateKey } = repo.host.rotateIdentity('bookbuyer.default')
    await until('the new certificate', () => worker.documents.length === 2)
    expect(JSON.parse(worker.documents[1] ?? '')).toMatchObject({ credentials: { key: privateKey } })
    expect(worker.loads).toBe(1)
  })
})

describe('a file that is watched', () => {
  it('brings the policy to a script that does not poll', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted, { silent: true, watch: '/config.json' })
    await until('a document', () => worker.documents.length === 1)
    // The first look only takes note: what changes before it is seen with the next change.
    await until('two looks', () => session().describe().heardAt !== undefined && worker.loads === 1)
    for (let turn = 0; worker.watched.length === 0 && turn < 100; turn += 1) {
      repo.host.say(admitted.uuid, `turn ${turn}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    expect(worker.watched[0]).toMatch(/"says":"turn \d+"/)
  })
})

describe('a worker that has not what it should have', () => {
  it('and never acknowledges is told of, and is asked to reload everything, less and less often', async () => {
    const worker = repo.worker(repo.host.admitted(), { silent: true })
    await until('the document', () => worker.documents.length === 1)
    await until('a link', () => session().describe().links === 1)
    expect(worker.reloads).toBe(0)
    const reports = () => repo.host.metrics.get('osm_pipy_repo_request_count status 201') ?? 0
    const before = reports()
    repo.pass(14_000)
    // Heard of in between: a worker that is silent for so long would be gone.
    await until('two reports', () => reports() > before + 1)
    repo.pass(1_100)
    await until('the push', () => worker.reloads === 1)
    expect(logged('OSM_PIPY_NOT_ACKNOWLEDGED')).toBe(true)
    expect(repo.host.reports.at(-1)).toMatchObject({ complete: false })
    expect(new Set(repo.host.reports.at(-1)?.parts.map(({ state }) => state))).toEqual(new Set(['unknown']))
    expect(repo.host.metrics.get('osm_pipy_reload_push_count config')).toBe(1)
  })

  it('because its download was lost, is asked to reload everything', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until(
      'a link',
      () => worker.loads === 1 && repo.server.sessions.size === 1 && session().describe().links === 1,
    )
    // It fetches the list and no file, as one whose connection breaks.
    const client = repo.client(admitted.credential)
    await client.get(`/repo/osm-edge-sidecar/${admitted.uuid}.sidecar.bookbuyer.default/`)
    repo.pass(15_100)
    await until('the push', () => worker.reloads === 1)
    expect(logged('OSM_PIPY_DOWNLOAD_LOST')).toBe(true)
    await until('all of it', () => session().downloads.incompleteSince === undefined)
  })

  it('because it runs other scripts, as its status says, is asked as well; one that says nothing is at its first', async () => {
    const admitted = repo.host.admitted()
    const client = repo.client(admitted.credential)
    const folder = `/repo/osm-edge-sidecar/${admitted.uuid}.sidecar.bookbuyer.default/`
    const report = async (version: string) => client.send('POST', folder, JSON.stringify({ version, since: 1 }))
    await report('')
    expect(session().downloads.incompleteSince).toBeUndefined()
    await report(codebaseOf('zero').etag)
    expect(session().downloads.incompleteSince).toBeDefined()
    await report(codebaseOf('one').etag)
    expect(session().downloads.incompleteSince).toBeUndefined()
  })

  it('is not connected any more once it is silent', async () => {
    const worker = repo.worker(repo.host.admitted())
    await until('the policy', () => complete(1))
    await worker.stop()
    expect(repo.server.sessions.size).toBe(1)
    repo.pass(15_100)
    await until('the end of the session', () => repo.server.sessions.size === 0)
    expect(repo.host.ended).toHaveLength(1)
  })
})

describe('two workers with one certificate', () => {
  it('are told of, and a policy is in force when both have it', async () => {
    const admitted = repo.host.admitted()
    repo.worker(admitted, { since: 100 })
    await until('the first policy', () => complete(1))
    let stubborn = false
    repo.worker(admitted, {
      since: 200,
      apply: () => {
        if (stubborn) throw new Error('not I')
      },
    })
    await until('the discovery', () => logged('OSM_PIPY_DUPLICATE_WORKER'))
    expect(session().describe()).toMatchObject({ workers: 2 })
    expect(repo.host.metrics.get('osm_pipy_duplicate_worker_count')).toBe(1)
    const step = repo.host.say(admitted.uuid, 'for both')
    await until('both', () => complete(step))
    stubborn = true
    const last = repo.host.say(admitted.uuid, 'for one')
    await until('the refusal', () => logged('OSM_PIPY_CONFIG_REFUSED'))
    expect(complete(last)).toBe(false)
  })

  it('are not seen in one that was started again', async () => {
    const admitted = repo.host.admitted()
    const first = repo.worker(admitted, { since: 100 })
    await until('the first policy', () => complete(1))
    await first.stop()
    const second = repo.worker(admitted, { since: 200 })
    await until('its policy', () => second.revision !== '')
    await until('a report', () => (repo.host.metrics.get('osm_pipy_repo_request_count status 201') ?? 0) > 4)
    expect(session().describe()).toMatchObject({ workers: 1 })
    expect(logged('OSM_PIPY_DUPLICATE_WORKER')).toBe(false)
  })
})

describe('a worker that the host evicts', () => {
  it.each(['released', 'workload-deleted'] as const)(
    'because it was %s is cut off and does not come back',
    async (reason) => {
      const admitted = repo.host.admitted()
      const worker = repo.worker(admitted)
      await until('the policy', () => complete(1))
      const { proxy } = session()
      repo.host.forget(proxy.commonName)
      repo.host.evict(admitted.uuid, proxy.session, reason)
      await until('the refusal', () => worker.polls.includes(403))
      await until('the end', () => repo.server.sessions.size === 0)
      expect(repo.host.ended).toEqual([proxy.session])
    },
  )

  it('to return gets a session again, and nothing that it has already', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until('the policy', () => complete(1))
    const { proxy } = session()
    repo.host.evict(admitted.uuid, proxy.session, 'rebalance')
    await until('another session', () => repo.server.sessions.size === 1 && session().proxy.session !== proxy.session)
    await until('its report', () =>
      repo.host.reports.some(({ session: id, complete }) => complete && id !== proxy.session),
    )
    expect(worker.documents).toHaveLength(1)
  })

  it('keeps its session when its certificate is replaced: it uses both until it starts again', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until('the policy', () => complete(1))
    const replaced = repo.host.controlPlane.issue(session().proxy.commonName)
    expect((await repo.client(replaced).get('/config?rev=x')).status).toBe(200)
    const { proxy } = session()
    await until('its requests', () => worker.loads === 1)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(session().proxy.session).toBe(proxy.session)
  })
})

describe('what is in a Secret that a policy names', () => {
  const secret = () => repo.host.services.issue('buyer-1')
  /** What the worker last got of it. */
  const given = (worker: { readonly documents: readonly string[] }): unknown => {
    const last = JSON.parse(worker.documents.at(-1) ?? '{}') as { credentials?: { further?: Record<string, unknown> } }
    return last.credentials?.further?.['secret/shop/a']
  }

  it('comes with the policy and is replaced live, and stands nowhere else', async () => {
    const first = secret()
    repo.host.setSecret('shop/a', first)
    const admitted = repo.host.admitted('bookbuyer.default', { needs: 'a' })
    const worker = repo.worker(admitted)
    await until('the policy', () => complete(1))
    expect(worker.documents).toHaveLength(1)
    expect(given(worker)).toEqual({ chain: first.chain, key: first.privateKey, roots: [] })
    const next = secret()
    repo.host.setSecret('shop/a', next)
    await until('the next one', () => (given(worker) as { readonly key: string }).key === next.privateKey)
    const files = [...worker.files.values()].join('')
    const plain = (await repo.client(admitted.credential).get('/config.json')).body
    const said = await repo.host.everythingSaid()
    const page = JSON.stringify([repo.described(), session().plainDocument()])
    for (const { privateKey } of [first, next]) {
      const [, line = ''] = privateKey.split('\n')
      expect(line.length).toBeGreaterThan(40)
      for (const text of [files, plain, said, page]) expect(text).not.toContain(line)
    }
  })

  it('goes to no one whose policy does not name it', async () => {
    repo.host.setSecret('shop/a', secret())
    const worker = repo.worker(repo.host.admitted())
    await until('the policy', () => complete(1))
    expect(worker.documents.join('')).not.toContain('secret/shop/a')
  })

  it('closes what needs it where it does not come, which is told; all is well once it is there', async () => {
    const admitted = repo.host.admitted('bookbuyer.default', { needs: 'a' })
    const worker = repo.worker(admitted)
    await until('a session', () => repo.described().length === 1)
    repo.pass(1_001)
    await until('the policy without it', () => worker.documents.length === 1)
    expect(given(worker)).toBeUndefined()
    await until('a report', () => repo.host.reports.length > 0)
    expect(repo.host.reports.at(-1)).toMatchObject({
      complete: false,
      parts: expect.arrayContaining([
        expect.objectContaining({
          state: 'rejected',
          message: expect.stringContaining('Secret shop/a is unavailable'),
        }),
      ]) as unknown,
    })
    expect(logged('OSM_PIPY_CREDENTIAL_MISSING')).toBe(true)
    repo.host.setSecret('shop/a', secret())
    await until('the whole policy', () => complete(1))
    expect(repo.host.reports.at(-1)?.parts).toMatchObject([{ state: 'applied' }])
  })

  it('closes what needs it where the worker cannot use it, and nothing else', async () => {
    repo.host.setSecret('shop/a', secret())
    const admitted = repo.host.admitted('bookbuyer.default', { needs: 'a' })
    const client = repo.client(admitted.credential)
    const revision = String((await client.get('/config?rev=')).headers['osm-revision'])
    const words = 'secret%2Fshop%2Fa,secret%2Fshop%2Fother'
    const waiting = client.get(`/config?rev=${revision}&unusable=${words}`)
    await until('a report', () => repo.host.reports.length > 0)
    expect(repo.host.reports.at(-1)).toMatchObject({
      complete: false,
      parts: expect.arrayContaining([
        expect.objectContaining({ state: 'rejected', message: expect.stringContaining('cannot be used') }),
      ]) as unknown,
    })
    expect(logged('OSM_PIPY_CREDENTIAL_UNUSABLE')).toBe(true)
    repo.host.setSecret('shop/a', secret())
    const next = String((await waiting).headers['osm-revision'])
    void client.get(`/config?rev=${next}`).catch(() => undefined)
    await until('that all is well', () => complete(1))
  })
})
