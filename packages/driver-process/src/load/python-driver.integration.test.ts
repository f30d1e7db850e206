import { rm } from 'node:fs/promises'
import { request } from 'node:https'
import { dirname, join } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Credential, Logger } from '@osm-ts/driver-api'
import { askProbe } from '@osm-ts/driver-api/host'
import { hashPart, type Part } from '@osm-ts/driver-api/policy'
import { PROXY_UID, until } from '@osm-ts/driver-api/toolkit'
import { FakeHost, injectorContext, runConformance } from '@osm-ts/driver-testkit'

import { childProcesses } from '../../test/child-processes.js'
import { freePort } from '../../test/free-port.js'
import { bundleHostProgram } from '../../test/host-program.js'
import { TestSink } from '../../test/test-sink.js'
import { defaultLimits } from '../host/limits.js'
import type { RemoteDriver } from '../host/remote-driver.js'
import { type LoadedDrivers, loadDrivers } from './load-drivers.js'
import { packageIntegrity } from './package-integrity.js'

const UUID = '6e8a0b0e-0000-4000-8000-000000000001'
const packages = { failing: join(import.meta.dirname, '../../test/packages/failing'), python: pythonFolder() }
const MINUTE_MS = 60_000
const limits = { ...defaultLimits, backoffMs: 50, backoffMaxMs: 400 }

let program: string
let end: AbortController
let loaded: LoadedDrivers
let python: RemoteDriver
let other: RemoteDriver
let host: FakeHost

beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => rm(dirname(program), { recursive: true }))
beforeEach(async () => {
  end = new AbortController()
  host = new FakeHost('python')
  const nothing = () => undefined
  const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
  const entries = Object.entries(packages).map(async ([name, path]) => ({
    name,
    path,
    integrity: await packageIntegrity(path),
    heapMb: 64,
    residentMb: 400,
    failurePolicy: 'Fail' as const,
  }))
  const sink = new TestSink()
  loaded = await loadDrivers({
    entries: await Promise.all(entries),
    sink,
    program,
    environment: process.env,
    limits,
    logger,
    random: Math.random,
    signal: end.signal,
  })
  await loaded.settled
  expect([...sink.refused]).toEqual([])
  const driver = (name: string) => sink.drivers.get(name) as RemoteDriver // that is what loading makes
  other = driver('failing')
  python = driver('python')
})
afterEach(async () => {
  host.stop()
  end.abort()
  await loaded.stopped
})

const explicit = () =>
  injectorContext({ interceptionMode: 'none', listen: { admin: { address: '127.0.0.1', port: 15_200 } } })
const otherProcess = async () => (await other.patch(injectorContext())).sidecar.args[0]

/** Pids of the processes that serve the driver in Python. */
const children = () => childProcesses().flatMap(({ pid, args }) => (args.includes('main.py') ? [pid] : []))
function onlyChild(): number {
  const [pid = 0, ...more] = children()
  expect([pid > 0, more]).toEqual([true, []])
  return pid
}

describe('a package that names a command', () => {
  it(
    'passes level 0 of the conformance suite',
    async () => {
      const said = { out: '', err: '' }
      const code = await runConformance(['--driver', packages.python], {
        folder: process.cwd(),
        environment: process.env,
        node: process.version,
        platform: process.platform,
        signal: end.signal,
        now: () => new Date(),
        out: (text) => void (said.out += text),
        err: (text) => void (said.err += text),
      })
      expect(said.err).toBe('')
      expect(said.out).toContain('osm-driver-python 0.1.0, class python, level 0')
      expect(said.out).toMatch(/^35 passed, 0 failed, 17 not claimed$/m)
      expect(code).toBe(0)
    },
    2 * MINUTE_MS,
  )

  it('is a driver like any other: it declares, patches, is started, and gives a proxy its policy', async () => {
    expect(python).toMatchObject({ name: 'python', contract: { min: 1, max: 1 }, version: '0.1.0' })
    const { sidecar } = await python.patch(explicit())
    expect(sidecar.security.runAsUser).toBe(PROXY_UID)
    await expect(python.patch(injectorContext({ podOS: 'windows' }))).rejects.toMatchObject({
      code: 'OSM_DRIVER_PATCH',
      message: 'python runs on linux, not on windows',
    })
    const port = await start()
    const { credential } = host.admit(UUID)
    const part = { kind: 'extension', id: 'x', class: 'other', type: 'x', value: 'für alle' } as unknown as Part
    host.publishPolicy(UUID, { extensions: [hashPart(part)] }, [part])
    const answer = await policy(port, credential)
    expect(answer).toMatchObject({ status: 200, body: { revision: 1, proxy: { id: UUID } } })
    expect((answer.body as { readonly parts: readonly unknown[] }).parts).toContainEqual(part)
    await until(() => host.ended.includes('session-1'))
    expect(await policy(port, host.controlPlane.issue('nobody.sidecar.a.b.cluster.local'))).toMatchObject({
      status: 403,
    })
    await until(() => host.logs.some(({ message }) => message === 'a proxy was refused'))
  })

  it('that is killed while it patches fails that patch, runs again, and no other driver notices', async () => {
    const [before, beside] = [onlyChild(), await otherProcess()]
    process.kill(before, 'SIGSTOP')
    const broken = python.patch(explicit())
    broken.catch(() => undefined)
    await expect(otherProcess()).resolves.toBe(beside)
    process.kill(before, 'SIGKILL')
    await expect(broken).rejects.toMatchObject({ code: 'OSM_DRIVER_UNAVAILABLE' })
    await until(() => python.status.state === 'restarting')
    await expect(python.patch(explicit())).rejects.toMatchObject({ code: 'OSM_DRIVER_UNAVAILABLE' })
    await until(() => python.status.state === 'running')
    expect(onlyChild()).not.toBe(before)
    await expect(python.patch(explicit())).resolves.toBeDefined()
    expect(python.status).toMatchObject({ restarts: 1, lastFailure: { code: 'OSM_DRIVER_EXITED' } })
    expect(other.status).toEqual({ state: 'running', restarts: 0 })
    await expect(otherProcess()).resolves.toBe(beside)
  })

  it('that is killed while it starts is refused, and can be started when it runs again', async () => {
    const [before, beside] = [onlyChild(), await otherProcess()]
    process.kill(before, 'SIGSTOP')
    const starting = python.start(host.context())
    starting.catch(() => undefined)
    await expect(otherProcess()).resolves.toBe(beside)
    process.kill(before, 'SIGKILL')
    await expect(starting).rejects.toMatchObject({ code: 'OSM_DRIVER_EXITED' })
    await until(() => python.status.state === 'running' && python.status.restarts === 1)
    await start()
    expect(host.cancelled).toEqual([])
    await expect(otherProcess()).resolves.toBe(beside)
    expect(other.status).toEqual({ state: 'running', restarts: 0 })
  })

  it('that is killed while it runs is started again by itself, on the same port and with the same probes', async () => {
    const before = onlyChild()
    const port = await freePort()
    const {
      probes: { readiness },
    } = await python.start(host.context({ proxyServerPort: port }))
    const { credential } = host.admit(UUID)
    host.publishPolicy(UUID)
    expect(await policy(port, credential)).toMatchObject({ status: 200 })
    process.kill(before, 'SIGKILL')
    await until(() => python.status.state === 'running' && python.status.restarts === 1)
    await until(() => askProbe(readiness, end.signal))
    expect(onlyChild()).not.toBe(before)
    expect(await policy(port, credential)).toMatchObject({ status: 200 })
  })

  it('ends with its host', async () => {
    onlyChild()
    end.abort()
    await loaded.stopped
    expect(children()).toEqual([])
  })
})

async function start(): Promise<number> {
  const proxyServerPort = await freePort()
  await python.start(host.context({ proxyServerPort }))
  return proxyServerPort
}

/** What a proxy is told. */
async function policy(port: number, { chain, privateKey }: Credential) {
  return new Promise<{ readonly status: number | undefined; readonly body: unknown }>((resolve, reject) => {
    const tls = { ca: host.controlPlane.certificate, cert: chain, key: privateKey, servername: 'ads', agent: false }
    const asked = request({ host: '127.0.0.1', port, path: '/policy', ...tls }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (more: string) => (text += more))
      response.on('end', () => {
        const isJson = response.headers['content-type'] === 'application/json'
        resolve({ status: response.statusCode, body: isJson ? JSON.parse(text) : text })
      })
    })
    asked.on('error', reject)
    asked.end()
  })
}

/** The package that examples/driver-python makes, as set-up has built it. */
function pythonFolder(): string {
  const folder = process.env['OSM_PYTHON_DRIVER'] ?? ''
  if (folder !== '') return folder
  throw new Error(
    'OSM_PYTHON_DRIVER must name a folder that examples/driver-python/build.py has made, as npm test does',
  )
}
