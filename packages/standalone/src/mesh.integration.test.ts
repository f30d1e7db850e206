import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterEach, describe, expect, it } from '@jest/globals'

import { temporaryFolders } from '../test/temporary-folders.js'
import { scriptDriver } from '../test/script-driver.js'
import { controllerProgram, sidecarProgram, workloadProgram } from '../test/programs.js'
import { Mesh } from './mesh.js'
import { explicitPlacement } from './placement.js'
import { isPortFreeAt } from './ports/is-port-free.js'
import { PortAllocator } from './ports/port-allocator.js'
import { listenerPortRange } from './ports/port-range.js'
import { machineProcesses } from './process/process-identity.js'
import { ProcessRegistry } from './process/process-registry.js'
import { prepareRun, statePaths } from './state/state-folder.js'
import type { MeshEvent, RunningInstance } from './types.js'

const folder = temporaryFolders()
const running: Mesh[] = []
const READY_MS = 30_000

afterEach(async () => {
  for (const mesh of running.splice(0)) await mesh.stop()
})

function workload(name: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    apiVersion: 'standalone.openservicemesh.io/v1alpha1',
    kind: 'Workload',
    metadata: { name, namespace: 'shop', labels: { app: name } },
    spec: { command: [process.execPath, '-e', workloadProgram], ...more },
  })
}

function service(name: string, port: number, appProtocol: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'shop' },
    spec: { selector: { app: name }, ports: [{ port, appProtocol }] },
  })
}

interface TestMesh {
  readonly mesh: Mesh
  readonly events: readonly MeshEvent[]
  readonly specFolder: string
  readonly state: string
  /** Resolves when the condition holds; the mesh tells when to look. */
  readonly until: (condition: () => boolean) => Promise<void>
  readonly instance: (name: string) => RunningInstance
  /** The environment that the program printed when it was started last. */
  readonly environmentOf: (name: string) => Readonly<Record<string, string>>
}

async function startTestMesh(
  files: Readonly<Record<string, string>>,
  options: {
    readonly state?: string
    readonly binary?: string
    readonly drainMs?: number
    readonly maxDrainMs?: number
  } = {},
): Promise<TestMesh> {
  const specFolder = folder(files)
  const state = options.state ?? folder()
  const programs = folder({
    'sidecar.mjs': sidecarProgram,
    'controller.mjs': controllerProgram,
    sidecar: `#!/bin/sh\nexec ${process.execPath} "$(dirname "$0")/sidecar.mjs" "$@"\n`,
  })
  const sidecar = join(programs, 'sidecar')
  chmodSync(sidecar, 0o755)
  const events: MeshEvent[] = []
  const watchers = new Set<() => void>()
  const paths = statePaths(state)
  prepareRun(paths)
  const ports = new PortAllocator({
    file: paths.ports,
    range: listenerPortRange(),
    isFree: isPortFreeAt(['127.0.0.1']),
    seed: state,
  })
  const mesh = new Mesh({
    options: {
      folder: specFolder,
      stateFolder: state,
      mode: 'explicit',
      sidecarBinaries: { envoy: options.binary ?? sidecar },
      controllerProgram: join(programs, 'controller.mjs'),
      ...(options.maxDrainMs !== undefined && { maxDrainMs: options.maxDrainMs }),
      onEvent: (event) => {
        events.push(event)
        for (const look of [...watchers]) look()
      },
      signal: new AbortController().signal,
      environment: { PATH: process.env.PATH, HTTP_PROXY: 'http://elsewhere:1', OWN: 'inherited' },
    },
    paths,
    ports,
    processes: new ProcessRegistry(paths.processes, machineProcesses),
    placement: explicitPlacement(ports, paths, undefined),
    drivers: [scriptDriver(options.drainMs)],
  })
  running.push(mesh)
  await mesh.start()
  const until = (condition: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!condition()) return
        watchers.delete(look)
        clearInterval(timer)
        resolve()
      }
      watchers.add(look)
      // Not everything that is waited for comes with an event.
      const timer = setInterval(look, 20)
      look()
    })
  const lines = (name: string): string[] =>
    events.flatMap((event) => (event.type === 'output' && event.instance === name ? event.line : []))
  return {
    mesh,
    events,
    specFolder,
    state,
    until,
    instance: (name) => mesh.instances().find((it) => it.name === name)!,
    environmentOf: (name) => {
      const line = lines(name).findLast((text) => text.startsWith('environment '))!
      return JSON.parse(line.slice('environment '.length)) as Record<string, string>
    },
  }
}

/** The WorkloadInstance that the controller reads. */
function instanceObject(state: string, name: string): { spec: Readonly<Record<string, unknown>> } {
  return JSON.parse(readFileSync(join(state, 'instances', `shop.${name}.json`), 'utf8')) as {
    spec: Readonly<Record<string, unknown>>
  }
}

function problemCodes(events: readonly MeshEvent[]): readonly string[] {
  const last = events.findLast((event) => event.type === 'problems')
  return last?.type === 'problems' ? last.problems.map(({ code }) => code) : []
}

describe('a mesh on one machine', () => {
  it('starts a sidecar and a program for every replica, and tells programs how to reach others', async () => {
    const test = await startTestMesh({
      'mesh.yaml': [
        workload('web', {
          replicas: 2,
          ports: [{ name: 'main-port', port: 80 }],
          env: [{ name: 'OWN', value: 'written' }],
        }),
        workload('client'),
        service('web', 80, 'http'),
        workload('database'),
        service('database', 5432, 'tcp'),
      ].join('\n---\n'),
    })
    await test.mesh.ready(READY_MS)

    expect(test.mesh.instances().map(({ name }) => name)).toEqual(['client-0', 'database-0', 'web-0', 'web-1'])
    const first = instanceObject(test.state, 'web-0').spec
    const environment = test.environmentOf('web-0')
    expect(first).toMatchObject({
      workload: 'web',
      mode: 'explicit',
      ready: true,
      sidecarClass: 'envoy',
      addresses: ['127.0.0.1'],
    })
    expect(first.ports).toEqual([{ name: 'main-port', port: 80, localPort: Number(environment.PORT) }])
    expect(Object.keys((first.allocations as { inbound: object }).inbound)).toEqual(['shop/web|80'])
    expect(environment).toMatchObject({ HOST: '127.0.0.1', PORT_MAIN_PORT: environment.PORT, OWN: 'written' })
    expect(test.environmentOf('web-1').PORT).not.toBe(environment.PORT)

    const client = test.environmentOf('client-0')
    const { allocations } = instanceObject(test.state, 'client-0').spec as {
      allocations: { outboundHttp: { port: number }; outboundTcp: Record<string, { port: number }> }
    }
    expect(client.HTTP_PROXY).toBe(`http://127.0.0.1:${allocations.outboundHttp.port}`)
    expect(client.http_proxy).toBe(client.HTTP_PROXY)
    expect(client.OSM_TCP_DATABASE_SHOP_5432).toBe(`127.0.0.1:${allocations.outboundTcp['shop/database|5432']!.port}`)
    expect(test.environmentOf('database-0')).not.toHaveProperty('OSM_TCP_DATABASE_SHOP_5432')
    expect(test.instance('client-0').environment).toMatchObject({ HTTP_PROXY: client.HTTP_PROXY })
  })

  it('gives each sidecar its files, which no one else reads', async () => {
    const test = await startTestMesh({ 'mesh.yaml': workload('web') })
    await test.mesh.ready(READY_MS)
    const home = join(test.state, 'run', 'shop.web-0')
    const { port } = test.instance('web-0').admin!
    const shown = await (await fetch(`http://127.0.0.1:${port}/file`)).text()
    expect(shown).toBe('shop/web-0')
    expect(statSync(home).mode & 0o777).toBe(0o700)
    expect(statSync(join(home, 'key.pem')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(home, 'key.pem'), 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----/)
    expect(readFileSync(join(home, 'chain.pem'), 'utf8')).toMatch(/^-----BEGIN CERTIFICATE-----/)
    expect(readFileSync(join(home, 'roots.pem'), 'utf8')).toMatch(/^-----BEGIN CERTIFICATE-----/)
  })

  it('leaves nothing behind but what is kept on purpose, and finds the same ports again', async () => {
    const files = { 'mesh.yaml': `${workload('web')}\n---\n${service('web', 80, 'http')}` }
    const test = await startTestMesh(files)
    await test.mesh.ready(READY_MS)
    const { PORT } = test.environmentOf('web-0')
    const { uuid } = test.instance('web-0')
    const pids = [test.mesh.controllerPid()!, test.instance('web-0').pid!, test.instance('web-0').sidecarPid!]
    await test.mesh.stop()
    expect(pids.filter((pid) => machineProcesses.find(pid) !== undefined)).toEqual([])
    expect(readdirSync(test.state).sort()).toEqual(['ca', 'logs', 'ports.json'])

    const again = await startTestMesh(files, { state: test.state })
    await again.mesh.ready(READY_MS)
    expect(again.environmentOf('web-0').PORT).toBe(PORT)
    expect(again.instance('web-0').uuid).not.toBe(uuid)
  })

  it('follows edits: more replicas, another command, a workload that goes', async () => {
    const test = await startTestMesh({ 'web.yaml': workload('web'), 'gone.yaml': workload('gone') })
    await test.mesh.ready(READY_MS)
    const { uuid } = test.instance('web-0')
    writeFileSync(join(test.specFolder, 'web.yaml'), workload('web', { replicas: 2 }))
    await test.until(() => test.mesh.instances().some(({ name, pid }) => name === 'web-1' && pid !== undefined))
    expect(test.instance('web-0').uuid).toBe(uuid)

    writeFileSync(join(test.specFolder, 'web.yaml'), workload('web', { env: [{ name: 'OWN', value: 'new' }] }))
    await test.until(() => test.environmentOf('web-0').OWN === 'new')
    expect(test.instance('web-0').uuid).not.toBe(uuid)
    expect(test.instance('web-1')).toBeUndefined()

    rmSync(join(test.specFolder, 'gone.yaml'))
    await test.until(
      () =>
        !test.mesh.instances().some(({ name }) => name === 'gone-0') &&
        !existsSync(join(test.state, 'run', 'shop.gone-0')),
    )
  })

  it('keeps a stopping workload no longer than its limit, even if its driver requests more', async () => {
    // Ten minutes are more than this test gets.
    const test = await startTestMesh({ 'web.yaml': workload('web') }, { drainMs: 600_000, maxDrainMs: 50 })
    await test.mesh.ready(READY_MS)
    const { uuid } = test.instance('web-0')
    writeFileSync(join(test.specFolder, 'web.yaml'), workload('web', { env: [{ name: 'OWN', value: 'new' }] }))
    await test.until(() => {
      const successor = test.mesh.instances().find((it) => it.name === 'web-0' && it.uuid !== uuid)
      return successor?.pid !== undefined
    })
  })

  it('gives a new service a listener at once, and says who has not been told of it', async () => {
    const test = await startTestMesh({ 'web.yaml': workload('web'), 'client.yaml': workload('client') })
    await test.mesh.ready(READY_MS)
    writeFileSync(join(test.specFolder, 'service.yaml'), service('web', 7000, 'tcp'))
    await test.until(() => problemCodes(test.events).includes('OSM_STANDALONE_VARIABLE_MISSING'))
    const { allocations } = instanceObject(test.state, 'web-0').spec as { allocations: { inbound: object } }
    expect(Object.keys(allocations.inbound)).toEqual(['shop/web|7000'])
    const problems = test.events.findLast((event) => event.type === 'problems')
    expect(problems).toMatchObject({
      problems: [
        {
          severity: 'warning',
          object: { kind: 'Service', name: 'web' },
          message: expect.stringMatching(/shop\/client-0 had started.*OSM_TCP_WEB_SHOP_7000/),
        },
      ],
    })
  })

  it('names the file and line of a command that does not start, and the rest goes on', async () => {
    const test = await startTestMesh({
      'mesh.yaml': workload('web'),
      'broken.yaml': [
        'apiVersion: standalone.openservicemesh.io/v1alpha1',
        'kind: Workload',
        'metadata: { name: broken, namespace: shop }',
        'spec:',
        '  command: [no-such-program]',
      ].join('\n'),
    })
    await test.until(() => problemCodes(test.events).includes('OSM_STANDALONE_COMMAND'))
    await test.until(() => test.instance('web-0').pid !== undefined)
    expect(test.events.findLast((event) => event.type === 'problems')).toMatchObject({
      problems: [
        {
          code: 'OSM_STANDALONE_COMMAND',
          origin: { kind: 'file', file: join(test.specFolder, 'broken.yaml'), line: 5 },
          field: 'spec.command',
          message: expect.stringMatching(/"no-such-program".*ENOENT/),
        },
      ],
    })
    await expect(test.mesh.ready(1)).rejects.toMatchObject({
      code: 'OSM_STANDALONE_NOT_READY',
      message: expect.stringMatching(/shop\/broken-0/),
    })
  })

  it('says what to set when there is no executable for a class', async () => {
    const test = await startTestMesh({ 'mesh.yaml': workload('web') }, { binary: '' })
    await test.until(() => problemCodes(test.events).includes('OSM_STANDALONE_BINARY'))
    expect(test.events.findLast((event) => event.type === 'problems')).toMatchObject({
      problems: [{ message: expect.stringMatching(/set ENVOY_BIN/), object: { name: 'web' } }],
    })
  })

  it('starts a sidecar, a program and a controller again when they die', async () => {
    const test = await startTestMesh({ 'mesh.yaml': workload('web') })
    await test.mesh.ready(READY_MS)
    const before = test.instance('web-0')
    const controller = test.mesh.controllerPid()!
    const url = test.mesh.controllerUrl()
    await fetch(`http://127.0.0.1:${before.admin!.port}/crash`)
    await test.until(() => test.events.some((event) => event.type === 'sidecar' && event.state === 'exited'))
    expect(instanceObject(test.state, 'web-0').spec).toMatchObject({ ready: false })
    process.kill(before.pid!, 'SIGKILL')
    process.kill(controller, 'SIGKILL')
    await test.until(() => test.mesh.controllerPid() !== undefined && test.mesh.controllerPid() !== controller)
    await test.until(() => test.instance('web-0').pid !== undefined && test.instance('web-0').pid !== before.pid)
    await test.mesh.ready(READY_MS)
    expect(test.mesh.controllerUrl()).toBe(url)
    expect(test.instance('web-0')).toMatchObject({ uuid: before.uuid, admin: before.admin })
    expect(test.instance('web-0').sidecarPid).not.toBe(before.sidecarPid)
    expect(instanceObject(test.state, 'web-0').spec).toMatchObject({ ready: true })
  })

  it('runs a program once when it is to run once, and ends its sidecar with it', async () => {
    const once = { command: [process.execPath, '-e', 'console.log("done")'], restartPolicy: 'Never' }
    const test = await startTestMesh({ 'mesh.yaml': workload('job', once) })
    await test.mesh.ready(READY_MS)
    await test.until(() => test.events.some((event) => event.type === 'sidecar' && event.state === 'exited'))
    expect(test.events.filter((event) => event.type === 'workload').map(({ state }) => state)).toEqual([
      'started',
      'exited',
    ])
  })

  it('reads the requests that programs report', async () => {
    const line = {
      t: 5,
      client: 'x',
      target: 'shop',
      path: '/',
      status: 200,
      server: 'v1',
      ms: 3,
      succeeded: 1,
      failed: 0,
    }
    const reporting = `console.log(${JSON.stringify(JSON.stringify(line))}); setInterval(() => undefined, 1000)`
    const test = await startTestMesh({
      'mesh.yaml': workload('client', { command: [process.execPath, '-e', reporting] }),
    })
    await test.until(() => test.events.some((event) => event.type === 'request'))
    expect(test.events.find((event) => event.type === 'request')).toEqual({
      type: 'request',
      request: {
        time: 5,
        client: 'client-0',
        namespace: 'shop',
        target: 'shop',
        path: '/',
        status: 200,
        server: 'v1',
        durationMs: 3,
      },
    })
  })
})
