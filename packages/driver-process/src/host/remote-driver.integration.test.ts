import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import { askProbe, hostContracts } from '@osm-ts/driver-api/host'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import { FakeHost, injectorContext } from '@osm-ts/driver-testkit'
import { until } from '@osm-ts/driver-api/toolkit'

import { bundleHostProgram } from '../../test/host-program.js'
import { PackageTrial } from '../../test/try-package.js'
import type { RemoteDriver } from './remote-driver.js'

let program: string
let trial: PackageTrial
let host: FakeHost

beforeAll(async () => {
  program = await bundleHostProgram()
})
afterAll(() => rm(dirname(program), { recursive: true }))
beforeEach(() => {
  trial = new PackageTrial(program)
  host = new FakeHost('failing')
})
afterEach(async () => {
  host.stop()
  await trial.end()
})

const ask = (mood: string) => injectorContext({ driverConfig: { do: mood } })
const pidOf = (patch: SidecarPatch) => Number(patch.sidecar.args[0])
const start = (driver: RemoteDriver, driverConfig: JsonValue = {}) => driver.start(host.context({ driverConfig }))
const running = (driver: RemoteDriver, restarts: number) =>
  until(() => driver.status.state === 'running' && driver.status.restarts >= restarts)

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a driver package in a child process', () => {
  it('is what it says, patches, and sees nothing of our environment', async () => {
    const driver = await trial.connect({ package: 'failing' })
    expect(driver).toMatchObject({
      name: 'failing',
      contract: { min: 1, max: 1 },
      version: '1.2.3',
      oldestProxyVersion: '2.3',
    })
    expect(driver.capabilities.protocols).toEqual(['http'])
    const patch = await driver.patch(injectorContext())
    expect(patch.sidecar.args[1]).toBe('no environment')
    expect(pidOf(patch)).not.toBe(process.pid)
    expect(isAlive(pidOf(patch))).toBe(true)
    await trial.end()
    expect(isAlive(pidOf(patch))).toBe(false)
  })

  it('learns which contract is in use if it supports several, and may declare more than this host knows', async () => {
    const driver = await trial.connect({ package: 'several-contracts' })
    expect(driver.contract).toEqual({ min: 1, max: 99 })
    expect(driver.capabilities).not.toHaveProperty('gravity')
    expect(driver.capabilities.features).toEqual(['retries'])
    const patch = await driver.patch(injectorContext())
    expect(patch.annotations).toEqual({ 'failing.sidecar.openservicemesh.io/contract': String(hostContracts.max) })
    await start(driver)
    await until(() => host.logs.some(({ message }) => message === 'contract in use'))
    expect(host.logs.find(({ message }) => message === 'contract in use')?.fields).toMatchObject({
      contract: hostContracts.max,
    })
  })

  it('is started: probes, log, metrics, pages, sessions', async () => {
    const driver = await trial.connect({ package: 'failing' })
    const { probes } = await start(driver)
    const signal = new AbortController().signal
    await expect(askProbe(probes.readiness, signal)).resolves.toBe(true)
    await until(() => host.metrics.get('failing_requests /healthy') === 1)
    await until(() => host.logs.some(({ message }) => message === 'asked'))
    await expect(host.page('/debug/failing', { word: 'hello' })).resolves.toMatchObject({
      status: 200,
      body: expect.stringContaining('hello') as unknown,
    })
    expect(driver.status).toEqual({ state: 'running', restarts: 0 })
    host.stop()
    await until(async () => !(await askProbe(probes.readiness, signal)))
  })

  it('says when it has stopped, and not while its process is started again', async () => {
    const driver = await trial.connect({ package: 'failing' })
    const { stopped } = await start(driver)
    const ends: string[] = []
    void stopped.then(() => ends.push('stopped'))
    await askDriver('end')
    await running(driver, 1)
    expect(driver.status.lastFailure?.message).toContain('out of breath')
    expect(ends).toEqual([])
    host.stop()
    await stopped
  })

  it('ends itself by cancel, and no one else', async () => {
    const driver = await trial.connect({ package: 'failing' })
    await start(driver)
    await askDriver('cancel')
    await until(() => host.cancelled.length === 1)
    expect(host.cancelled[0]?.message).toBe('no longer in the mood')
  })
})

/** Asks the proxy control plane of the driver itself. */
async function askDriver(path: string, body?: Uint8Array): Promise<string> {
  await until(() => port() !== undefined)
  const response = await fetch(`http://127.0.0.1:${port()}/${path}`, {
    method: 'POST',
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  })
  return response.text()
}

function port(): number | undefined {
  const said = host.logs.findLast(({ message }) => message === 'failing driver listens')?.fields['port']
  return typeof said === 'number' ? said : undefined
}

describe('a package that is not a driver is refused with the reason', () => {
  it.each([
    ['throws-at-load', 'OSM_DRIVER_LOAD', 'the moon is not full'],
    ['exports-nothing', 'OSM_DRIVER_LOAD', 'no default export'],
    ['no-driver', 'OSM_DRIVER_LOAD', '/name must be a DNS label'],
    [
      'later-contract',
      'OSM_DRIVER_CONTRACT',
      'driver later-contract supports contract versions 98 to 99, this host version 1; upgrade the control plane',
    ],
    ['failing', 'OSM_DRIVER_NAME', 'of class failing, but listed as other'],
    ['exits-at-load', 'OSM_DRIVER_EXITED', 'exit code 3'],
    ['leaks-at-load', 'OSM_DRIVER_MEMORY', 'may have 400'],
  ])('%s: %s', async (folder, code, words) => {
    const error: unknown = await trial.connect({ package: folder, name: 'other' }).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) as unknown })
    expect((error as Error).message).not.toContain('AKIA')
  })

  it.each(['hangs-at-load', 'spins-at-load'])('%s: OSM_DRIVER_TIMEOUT, and its process is gone', async (folder) => {
    await expect(trial.connect({ package: folder, limits: { describeMs: 1_000 } })).rejects.toMatchObject({
      code: 'OSM_DRIVER_TIMEOUT',
    })
  })
})

describe('patch', () => {
  it('that throws is an answer: others continue in the same process', async () => {
    const driver = await trial.connect({ package: 'failing' })
    const pid = pidOf(await driver.patch(injectorContext()))
    for (let time = 0; time < 5; time += 1) {
      await expect(driver.patch(ask('throw'))).rejects.toThrow('out of sorts')
      await expect(driver.patch(ask('garbage'))).rejects.toMatchObject({ code: 'OSM_DRIVER_PROTOCOL' })
    }
    expect(pidOf(await driver.patch(injectorContext()))).toBe(pid)
    expect(driver.status.restarts).toBe(0)
  })

  it('that hangs ends at its deadline, and with the request; others in the same process go on', async () => {
    const driver = await trial.connect({ package: 'failing', limits: { patchMs: 300, unansweredPatches: 10 } })
    const hanging = driver.patch(ask('hang'))
    await expect(driver.patch(injectorContext())).resolves.toBeDefined()
    await expect(hanging).rejects.toMatchObject({ code: 'OSM_DRIVER_TIMEOUT' })
    const given = new AbortController()
    const abortedCall = driver.patch({ ...ask('hang'), signal: given.signal })
    given.abort()
    await expect(abortedCall).rejects.toMatchObject({ code: 'OSM_DRIVER_TIMEOUT' })
    expect(driver.status.restarts).toBe(0)
  })

  it('that hangs again and again opens the circuit: asked at once, answered at once, until it runs again', async () => {
    const told: string[] = []
    const driver: RemoteDriver = await trial.connect({
      package: 'failing',
      limits: { patchMs: 200, unansweredPatches: 3, backoffMs: 1_000, backoffMaxMs: 1_000 },
      onChange: () => told.push(driver.status.state),
    })
    for (let time = 0; time < 3; time += 1)
      await expect(driver.patch(ask('hang'))).rejects.toMatchObject({ code: 'OSM_DRIVER_TIMEOUT' })
    await until(() => driver.status.state === 'restarting')
    const since = performance.now()
    await expect(driver.patch(injectorContext())).rejects.toMatchObject({ code: 'OSM_DRIVER_UNAVAILABLE' })
    expect(performance.now() - since).toBeLessThan(150)
    await running(driver, 1)
    expect([told[0], told.at(-1)]).toEqual(['restarting', 'running'])
    // One at a time, until one was answered.
    const [first, second] = await Promise.allSettled([driver.patch(injectorContext()), driver.patch(injectorContext())])
    expect(first.status).toBe('fulfilled')
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'OSM_DRIVER_UNAVAILABLE' } })
    await Promise.all([driver.patch(injectorContext()), driver.patch(injectorContext())])
    expect(driver.status.lastFailure?.code).toBe('OSM_DRIVER_TIMEOUT')
  })

  it.each(['spin', 'exit', 'throw-later', 'leak-heap', 'leak-buffers'])(
    'that does "%s" fails alone, and its process is replaced',
    async (mood) => {
      const other = await trial.connect({ package: 'failing' })
      const driver = await trial.connect({ package: 'failing', limits: { patchMs: 8_000, pingMs: 500 } })
      const pid = pidOf(await driver.patch(injectorContext()))
      const otherPid = pidOf(await other.patch(injectorContext()))
      const broken = driver.patch(ask(mood))
      broken.catch(() => undefined)
      await expect(other.patch(injectorContext())).resolves.toBeDefined()
      await expect(broken).rejects.toBeInstanceOf(OsmError)
      await until(() => driver.status.restarts > 0)
      await running(driver, 1)
      expect(isAlive(pid)).toBe(false)
      expect(pidOf(await driver.patch(injectorContext()))).not.toBe(pid)
      expect(pidOf(await other.patch(injectorContext()))).toBe(otherPid)
      expect(other.status.restarts).toBe(0)
      expect(driver.status.lastFailure?.code).toBe(
        { spin: 'OSM_DRIVER_TIMEOUT', 'leak-buffers': 'OSM_DRIVER_MEMORY' }[mood] ?? 'OSM_DRIVER_EXITED',
      )
    },
  )

  it('is requested so many at a time, and no more', async () => {
    const driver = await trial.connect({ package: 'failing', limits: { patchesAtOnce: 2, patchMs: 300 } })
    const hanging = [driver.patch(ask('hang')), driver.patch(ask('hang'))]
    await expect(driver.patch(injectorContext())).rejects.toMatchObject({ code: 'OSM_DRIVER_UNAVAILABLE' })
    for (const one of await Promise.allSettled(hanging)) expect(one.status).toBe('rejected')
    await expect(driver.patch(injectorContext())).resolves.toBeDefined()
  })
})

describe('start', () => {
  it.each(['throw', 'exit', 'leak-heap'])('that does "%s" is refused, and patches go on', async (mood) => {
    const driver = await trial.connect({ package: 'failing' })
    await expect(start(driver, { do: mood })).rejects.toBeInstanceOf(OsmError)
    await running(driver, 1)
    await expect(driver.patch(injectorContext())).resolves.toBeDefined()
    expect(host.cancelled).toEqual([])
  })

  it('that hangs ends with its signal, and its process goes on', async () => {
    const driver = await trial.connect({ package: 'failing' })
    const pid = pidOf(await driver.patch(injectorContext()))
    const starting = start(driver, { do: 'hang' })
    host.stop()
    await expect(starting).rejects.toMatchObject({ code: 'OSM_DRIVER_START' })
    expect(pidOf(await driver.patch(injectorContext()))).toBe(pid)
    expect(driver.status).toEqual({ state: 'running', restarts: 0 })
  })

  it('that hangs is refused at its deadline', async () => {
    const driver = await trial.connect({ package: 'failing', limits: { startMs: 300 } })
    await expect(start(driver, { do: 'hang' })).rejects.toMatchObject({ code: 'OSM_DRIVER_TIMEOUT' })
  })

  it.each(['exit', 'spin', 'throw', 'leak-heap'])('that does "%s" later is started again by itself', async (mood) => {
    const driver = await trial.connect({ package: 'failing', limits: { pingMs: 500 } })
    const { probes } = await start(driver)
    const { credential } = host.admit('6e8a0b0e-0000-4000-8000-000000000001')
    const der = Buffer.from(credential.chain.replaceAll(/-----.*-----|\s/g, ''), 'base64')
    expect(JSON.parse(await askDriver('session', der))).toMatchObject({ session: 'session-1' })
    const before = await host.page('/debug/failing')
    const oldPort = port()
    await askDriver(mood)
    // Its proxies are gone with it.
    await until(() => host.ended.includes('session-1'))
    await running(driver, 1)
    await until(() => port() !== oldPort)
    const { signal } = new AbortController()
    await until(() => askProbe(probes.readiness, signal))
    expect((await host.page('/debug/failing')).body).not.toBe(before.body)
    expect(JSON.parse(await askDriver('session', der))).toMatchObject({ session: 'session-2' })
    expect(host.cancelled).toEqual([])
  })
})
