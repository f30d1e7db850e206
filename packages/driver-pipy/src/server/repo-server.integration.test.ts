import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { testAuthority } from '@osm-ts/driver-testkit'

import { codebaseOf } from '../../test/mesh.js'
import { RepoClient } from '../../test/repo-client.js'
import { RepoFixture, until } from '../../test/repo-fixture.js'

let repo: RepoFixture

beforeEach(async () => {
  repo = new RepoFixture()
  await repo.start()
})

afterEach(async () => repo.stop())

const linked = () => repo.described().some(({ links }) => links === 1)
const folderOf = (uuid: string, identity = 'bookbuyer.default') => `/repo/osm-edge-sidecar/${uuid}.sidecar.${identity}/`

describe('a codebase', () => {
  it('is loaded by a worker, and reloaded when it changes: at once over the link', async () => {
    const worker = repo.worker(repo.host.admitted(), { periodMs: 5_000 })
    await until('the first load', () => worker.loads === 1)
    expect([...worker.files.keys()]).toEqual(['/main.js', '/lib/a.js', '/lib/b.js'])
    expect(worker.version).toBe('')
    await until('a document', () => worker.revision !== '')
    const next = codebaseOf('two')
    repo.server.replaceCodebase(next)
    await until('the second load', () => worker.version === next.etag)
    expect(worker.reloads).toBe(1)
    expect(worker.files.get('/main.js')).toContain('two')
  })

  it('is found changed by a worker that looks, without any link', async () => {
    const admitted = repo.host.admitted()
    const worker = repo.worker(admitted)
    await until('the first load', () => worker.loads === 1)
    const next = codebaseOf('two')
    await repo.restart({ codebase: next })
    await until('the second load', () => worker.version === next.etag)
  })

  it('has ETags of its content and no date, for HEAD as for GET', async () => {
    const { uuid, credential } = repo.host.admitted()
    const client = repo.client(credential)
    const folder = folderOf(uuid)
    for (const path of [folder, `${folder}main.js`]) {
      const head = await client.send('HEAD', path)
      const get = await client.get(path)
      expect(head).toMatchObject({ status: 200, body: '' })
      expect(head.headers.etag).toMatch(/^[\w-]{32}$/)
      expect(get.headers.etag).toBe(head.headers.etag)
      expect(get.headers['last-modified']).toBeUndefined()
    }
    const etags = (await client.get(`${folder}_etags`)).body
    expect(etags.split('\n')).toHaveLength(4)
    expect(etags).toContain(`/main.js#${(await client.get(`${folder}main.js`)).headers.etag}`)
    expect((await client.get(`${folder}nothing.js`)).status).toBe(404)
  })

  it('does not mix with the one before while it is downloaded', async () => {
    const { uuid, credential } = repo.host.admitted()
    const client = repo.client(credential)
    const folder = folderOf(uuid)
    await client.get(folder)
    expect((await client.get(`${folder}main.js`)).body).toContain("'one'")
    repo.server.replaceCodebase(codebaseOf('two'))
    expect((await client.get(`${folder}lib/a.js`)).body).toContain("'one'")
    expect((await repo.client(credential).get(`${folder}lib/a.js`)).body).toContain("'two'")
    await client.get(folder)
    expect((await client.get(`${folder}lib/a.js`)).body).toContain("'two'")
  })

  it('can only be read', async () => {
    const { uuid, credential } = repo.host.admitted()
    const client = repo.client(credential)
    for (const [method, path, status] of [
      ['POST', `${folderOf(uuid)}main.js`, 405],
      ['PUT', `${folderOf(uuid)}main.js`, 405],
      ['PATCH', folderOf(uuid), 405],
      ['DELETE', folderOf(uuid), 405],
      ['POST', '/api/v1/repo/x', 400],
      ['GET', '/api/v1/repo', 400],
      ['POST', '/config?rev=', 405],
    ] as const)
      expect(await client.send(method, path)).toMatchObject({ status })
    expect(repo.server.codebase.etag).toBe(codebaseOf('one').etag)
  })
})

describe('a download that is lost', () => {
  it('because the server started again in the middle of it, is made up for by the link', async () => {
    let breakDown = false
    const worker = repo.worker(repo.host.admitted(), {
      beforeFile: async (path) => {
        if (path !== '/lib/a.js' || !breakDown) return
        breakDown = false
        await repo.down()
        throw new Error('the connection broke')
      },
    })
    await until('the first load', () => worker.loads === 1)
    const second = codebaseOf('two')
    await repo.restart({ codebase: second })
    await until('the second load', () => worker.version === second.etag)
    const third = codebaseOf('three')
    breakDown = true
    await repo.restart({ codebase: third })
    await until('the failure', () => worker.failures.some((failure) => failure.includes('the connection broke')))
    await repo.up({ codebase: third })
    await until('a link', () => linked())
    // It remembers the ETag of the list, and requests nothing more.
    expect(worker.version).toBe(second.etag)
    await until('its status', () => JSON.stringify(repo.described()).includes(second.etag))
    repo.pass(15_100)
    await until('the third load', () => worker.version === third.etag)
    expect(worker.files.get('/lib/b.js')).toContain('three')
    expect(repo.host.logs.map(({ fields }) => fields.code)).toContain('OSM_PIPY_DOWNLOAD_LOST')
  })
})

describe('who may ask', () => {
  it('is no one without a certificate, with one of another root, or with one that has expired', async () => {
    const { uuid, credential } = repo.host.admitted()
    const name = `${uuid}.sidecar.bookbuyer.default.cluster.local`
    const others = [
      undefined,
      testAuthority('control-plane').issue(name),
      repo.host.services.issue('bookbuyer.default.cluster.local'),
      repo.host.controlPlane.issue(name, { notAfter: new Date(Date.now() - 60_000) }),
    ]
    for (const other of others) await expect(repo.client(other).get(folderOf(uuid))).rejects.toThrow()
    expect((await repo.client(credential).get(folderOf(uuid))).status).toBe(200)
    expect([...repo.server.sessions]).toHaveLength(1)
  })

  it('excludes proxies that the host does not know, and those with an expired certificate', async () => {
    const { uuid, credential } = repo.host.admitted()
    const stranger = repo.host.controlPlane.issue(
      'c0ffee00-0000-4000-8000-000000000001.sidecar.x.default.cluster.local',
    )
    expect(await repo.client(stranger).get(folderOf(uuid))).toMatchObject({ status: 403 })
    const client = repo.client(credential)
    expect((await client.get(folderOf(uuid))).status).toBe(200)
    repo.pass(2 * 24 * 60 * 60 * 1000)
    expect(await client.get(folderOf(uuid))).toMatchObject({ status: 403, body: 'the certificate has expired\n' })
    expect(repo.host.logs).toContainEqual(
      expect.objectContaining({ fields: expect.objectContaining({ code: 'OSM_PIPY_WORKER_REFUSED' }) as unknown }),
    )
  })

  it('may come before its workload is known, and is served as soon as it is', async () => {
    const { uuid, commonName, credential } = repo.host.admitted()
    repo.host.forget(commonName)
    const answer = repo.client(credential).get(folderOf(uuid))
    await new Promise((resolve) => setTimeout(resolve, 300))
    repo.host.admit(uuid)
    expect((await answer).status).toBe(200)
  })

  it('sees its own codebase only, by HTTP and by the link', async () => {
    const { uuid, credential } = repo.host.admitted()
    const other = repo.host.admitted('bookstore.default')
    const client = repo.client(credential)
    const foreign = folderOf(other.uuid, 'bookstore.default')
    for (const path of ['', 'main.js', '_etags', 'config.json'])
      for (const method of ['GET', 'HEAD']) expect((await client.send(method, `${foreign}${path}`)).status).toBe(403)
    expect((await client.send('POST', foreign, '{}')).status).toBe(403)
    // Its own identity under another uuid, and the other way round.
    expect((await client.get(folderOf(other.uuid))).status).toBe(403)
    expect((await client.get(folderOf(uuid, 'bookstore.default'))).status).toBe(403)
    await expect(client.upgrade(`${foreign}${other.uuid}`)).rejects.toThrow('403')
    await expect(client.upgrade(`${folderOf(uuid)}${other.uuid}`)).rejects.toThrow('403')
    await expect(client.upgrade(folderOf(uuid))).rejects.toThrow('400')
    ;(await client.upgrade(`${folderOf(uuid)}${uuid}`)).destroy()
  })

  it.each([
    ['an escaped slash', (folder: string) => `${folder}..%2fmain.js`],
    ['a dot segment', (folder: string) => `${folder}../other/main.js`],
    ['an escaped dot segment', (folder: string) => `${folder}%2e%2e/main.js`],
    ['an empty segment', (folder: string) => `${folder}/main.js`],
    ['a backslash', (folder: string) => `${folder}..\\main.js`],
    ['a query', (folder: string) => `${folder}main.js?x=1`],
    ['a broken escape', (folder: string) => `${folder}%zz`],
    ['NUL', (folder: string) => `${folder}main.js%00`],
    ['a fragment', (folder: string) => `${folder}main.js#x`],
    ['another host', (folder: string) => `https://example.org${folder}main.js`],
    ['another folder', (folder: string) => folder.replace('osm-edge-sidecar', 'osm-edge-base')],
    ['another case', (folder: string) => folder.replace('/repo/', '/Repo/')],
    ['no end', (folder: string) => folder.slice(0, -1)],
    ['too many segments', (folder: string) => `${folder}${'a/'.repeat(20)}b`],
  ])('is told nothing for %s in a path', async (_what, path) => {
    const { uuid, credential } = repo.host.admitted()
    const { status, body } = await repo.client(credential).get(path(folderOf(uuid)))
    expect(status).toBe(400)
    expect(body).not.toContain('export')
  })
})

describe('the certificate of the server', () => {
  it('is replaced for new connections, while those that are open go on', async () => {
    const { uuid, credential } = repo.host.admitted()
    const client = repo.client(credential)
    await client.get(folderOf(uuid))
    repo.host.rotateServer('ads-2')
    await until('the swap', () => repo.host.logs.some(({ message }) => message.includes('new certificate')))
    expect((await client.get(folderOf(uuid))).status).toBe(200)
    expect(await commonNameShown()).toBe('ads-2')
    // The roots are still those of the control plane: a swap must not fall back to those of Node.js, nor to none.
    await expect(repo.client(undefined).get(folderOf(uuid))).rejects.toThrow()
    await expect(repo.client(repo.host.services.issue('x')).get(folderOf(uuid))).rejects.toThrow()
    expect((await repo.client(credential).get(folderOf(uuid))).status).toBe(200)
  })

  it('comes with other roots: a worker of the old one is made to return, and is then refused', async () => {
    const { uuid, credential } = repo.host.admitted()
    const client = repo.client(credential)
    await client.get(folderOf(uuid))
    const next = testAuthority('control-plane-2')
    repo.host.rotateServer('ads-2', [next.certificate])
    await until('the end of the session', () => repo.server.sessions.size === 0)
    await until('the end of the connection', () => repo.server.connections === 0)
    await expect(client.get(folderOf(uuid))).rejects.toThrow()
  })

  it('stays if the next one is none', async () => {
    const { uuid, credential } = repo.host.admitted()
    const clientRoots = { id: 'x', certificates: [repo.host.controlPlane.certificate] }
    repo.host.serverTrust.set({ credential: { ...credential, chain: 'nonsense' }, clientRoots })
    await until('the complaint', () => JSON.stringify(repo.host.logs).includes('OSM_PIPY_TRUST'))
    expect((await repo.client(credential).get(folderOf(uuid))).status).toBe(200)
  })

  async function commonNameShown(): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: repo.server.port, rejectUnauthorized: false }
      const socket = connectTls(options, () => {
        resolve(String(socket.getPeerCertificate().subject.CN))
        socket.destroy()
      })
      socket.once('error', reject)
    })
  }
})

describe('what is bounded', () => {
  it('plaintext and half a handshake are closed', async () => {
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(repo.server.port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'))
      let text = ''
      socket.on('data', (chunk) => (text += chunk.toString('latin1')))
      socket.on('error', () => undefined)
      socket.once('close', () => resolve(text))
    })
    expect(answer).not.toContain('HTTP')
  })

  it('a status report that is too long, or none', async () => {
    const { uuid, credential } = repo.host.admitted()
    const client = repo.client(credential)
    expect((await client.send('POST', folderOf(uuid), 'x'.repeat(300_000))).status).toBe(413)
    for (const body of ['', '[', '7', '{"version":{}}', JSON.stringify({ version: 'v'.repeat(1000) })])
      expect((await repo.client(credential).send('POST', folderOf(uuid), body)).status).toBe(400)
    const good = JSON.stringify({ version: '', since: 1, logs: [] })
    expect((await repo.client(credential).send('POST', folderOf(uuid), good)).status).toBe(201)
  })

  it('headers that are too long', async () => {
    const { uuid, credential } = repo.host.admitted()
    const { status } = await repo.client(credential).send('GET', folderOf(uuid), undefined, { x: 'y'.repeat(20_000) })
    expect(status).toBe(431)
  })

  it('connections of one worker', async () => {
    const { uuid, credential } = repo.host.admitted()
    const clients = Array.from({ length: 40 }, () => repo.client(credential))
    const answers = await Promise.all(clients.map(async (client) => client.get(folderOf(uuid))))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(32)
    expect(answers.filter(({ status }) => status === 503)).toHaveLength(8)
  })

  it('a reader that takes nothing', async () => {
    const large = new RepoFixture({
      codebase: codebaseOf('x'.repeat(40_000_000)),
      timing: { pollTimeoutMs: 25_000, writeTimeoutMs: 300, sweepMs: 20 },
    })
    await large.start()
    try {
      const { uuid, credential } = large.host.admitted()
      const socket = connectTls({
        host: '127.0.0.1',
        port: large.server.port,
        rejectUnauthorized: false,
        cert: credential.chain,
        key: credential.privateKey,
      })
      socket.on('error', () => undefined)
      await new Promise<void>((resolve) => socket.once('secureConnect', resolve))
      socket.pause()
      socket.write(`GET ${folderOf(uuid)}main.js HTTP/1.1\r\nhost: x\r\n\r\n`)
      await until('the connection', () => large.server.connections === 1)
      await until('the cut', () => large.server.connections === 0)
      socket.destroy()
    } finally {
      await large.stop()
    }
  })
})

describe('the end', () => {
  it('answers polls, closes links and connections, and tells the host', async () => {
    const worker = repo.worker(repo.host.admitted())
    await until('a poll', () => worker.revision !== '' && repo.described().some(({ waiting }) => waiting === 1))
    await repo.server.close()
    expect(repo.server.listening).toBe(false)
    await until('the last answer', () => worker.polls.at(-1) === 204)
    expect(repo.host.ended).toHaveLength(1)
    await until('no connections', () => repo.server.connections === 0)
    const { certificate } = repo.host.controlPlane
    const late = new RepoClient({ port: repo.server.port, roots: [certificate] })
    await expect(late.get('/')).rejects.toThrow()
    late.close()
  })
})
