import { cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Problem, ProxyStatus } from '@osm-ts/core'
import { listedDrivers } from '@osm-ts/driver-process'
import {
  type MeshEvent,
  type MeshMode,
  type MeshOptions,
  type RunningInstance,
  type RunningMesh,
  startMesh,
} from '@osm-ts/standalone'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { noteCrash } from './crashes.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const apps = join(root, 'e2e/dataplane/support/apps')

/** Programs that scenarios run as workloads. */
export const programs = {
  http: join(apps, 'http-server.mjs'),
  http2: join(apps, 'http2-server.mjs'),
  tcp: join(apps, 'tcp-server.mjs'),
  tls: join(apps, 'tls-server.mjs'),
  httpAndTcp: join(apps, 'http-and-tcp-server.mjs'),
  interop: join(apps, 'interop-server.mjs'),
  grpc: join(apps, 'grpc-server.mjs'),
  gateway: join(apps, 'gateway.mjs'),
  recording: join(apps, 'recording-server.mjs'),
  relaying: join(apps, 'relaying-server.mjs'),
  idle: join(apps, 'idle.mjs'),
} as const

/** A mesh under test, with the folder that it reads. */
export interface TestMesh {
  readonly mesh: RunningMesh
  readonly folder: string
  readonly stateFolder: string
  readonly events: readonly MeshEvent[]
  /** Writes a file of the folder the way an editor does: as a whole. An empty text removes it. */
  readonly write: (name: string, ...documents: readonly string[]) => Promise<void>
  /** Writes a file, and waits until some policy has changed and every proxy has applied what it should. */
  readonly apply: (name: string, ...documents: readonly string[]) => Promise<void>
  /** The instance of a workload, `namespace/workload`, or the one of that name. */
  readonly instance: (workload: string) => RunningInstance
  /** URL of the forward proxy of a workload's sidecar. */
  readonly proxyOf: (workload: string) => string
  /** Local address under which a workload reaches a TCP service port. */
  readonly tcpAddress: (workload: string, service: string) => string
  readonly statuses: () => Promise<readonly ProxyStatus[]>
  /** True if the policies in force follow from everything that the controller has read. */
  readonly isSettled: () => Promise<boolean>
  readonly status: (workload: string) => Promise<ProxyStatus>
  readonly problems: () => Promise<readonly Problem[]>
  /** A debug page of the controller, as text. */
  readonly debug: (path: string) => Promise<string>
  /** Waits until every proxy has applied what the catalog wants. */
  readonly settled: () => Promise<void>
  /** Waits until nothing has changed for longer than a change takes. */
  readonly atRest: () => Promise<void>
  /** Kills the controller, which its supervisor starts again, and waits until every proxy is back. */
  readonly restartController: (meanwhile?: () => Promise<void>) => Promise<void>
  readonly stop: () => Promise<void>
}

/** A sidecar class that the programs are not built with. */
export interface LoadedClass {
  readonly name: string
  /** List of drivers that names it. */
  readonly list: string
  /** Program that runs beside workloads. */
  readonly sidecar: string
  /** Added to the environment of sidecars. */
  readonly environment?: Readonly<Record<string, string>>
}

/** The real Envoy. Set-up provides it; without it there is nothing to test. */
export function envoyBinary(): string {
  const binary = process.env.ENVOY_BIN
  if (binary === undefined || binary === '')
    throw new Error('ENVOY_BIN names no Envoy; run the tests by `npm test`, which provides one')
  return binary
}

/** How a mesh under test is started; all of it may be left out. */
export interface TestMeshOptions extends Pick<
  MeshOptions,
  'maxDrainMs' | 'endpointsProviders' | 'machineAddress' | 'workloadApiSocket'
> {
  readonly mode?: MeshMode
  /** A mesh whose roots it has; absent: its own. */
  readonly peer?: TestMesh | undefined
  /** Of workloads that say nothing. */
  readonly sidecarClass?: string | undefined
  readonly loaded?: LoadedClass | undefined
  readonly envoy?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly controllerProgram?: string
}

/** Starts a mesh on a fresh folder with the given files and waits until all of it runs. */
export async function startTestMesh(
  files: Readonly<Record<string, readonly string[]>>,
  {
    mode = 'explicit',
    peer,
    sidecarClass = 'envoy',
    loaded,
    envoy,
    environment,
    controllerProgram = join(root, 'packages/standalone/dist/controller.mjs'),
    ...settings
  }: TestMeshOptions = {},
): Promise<TestMesh> {
  const scratch = await mkdtemp(join(tmpdir(), 'osm-dataplane-'))
  const folder = join(scratch, 'mesh')
  const stateFolder = join(scratch, 'state')
  await mkdir(folder)
  if (peer !== undefined) await cp(join(peer.stateFolder, 'ca'), join(stateFolder, 'ca'), { recursive: true })
  const events: MeshEvent[] = []
  const abort = new AbortController()
  const write = async (name: string, ...documents: readonly string[]): Promise<void> => {
    const path = join(folder, name)
    if (documents.length === 0) {
      await rm(path, { force: true })
      return
    }
    // Secrets are taken from files that are closed to others only.
    await writeFile(join(scratch, name), documents.join('---\n'), { mode: 0o600 })
    await rename(join(scratch, name), path)
  }
  for (const [name, documents] of Object.entries(files)) await write(name, ...documents)
  const mesh = await startMesh({
    ...settings,
    folder,
    stateFolder,
    mode,
    sidecarBinaries: {
      ...sidecarBinaries(),
      ...(envoy !== undefined && { envoy }),
      ...(loaded !== undefined && { [loaded.name]: loaded.sidecar }),
    },
    ...(loaded !== undefined && { driverPackages: await listedDrivers(loaded.list, {}) }),
    controllerProgram,
    onEvent: (event) => {
      events.push(event)
      if (event.type === 'sidecar' && /ended by SIG(SEGV|ABRT|BUS|ILL|FPE)/.test(event.detail ?? ''))
        noteCrash(`the sidecar of ${event.namespace}/${event.instance}: ${event.detail ?? ''}`)
    },
    signal: abort.signal,
    environment: { ...process.env, OSM_DEFAULT_SIDECAR_CLASS: sidecarClass, ...loaded?.environment, ...environment },
  })
  const stop = async (): Promise<void> => {
    await mesh.stop()
    abort.abort()
    await rm(scratch, { recursive: true, force: true })
  }
  try {
    await mesh.ready(120_000)
    await access(mesh).atRest()
  } catch (error) {
    const trail = events
      .filter(({ type }) => type !== 'request')
      .slice(-40)
      .map((event) => JSON.stringify(event))
    await stop()
    throw new Error(`the mesh did not become ready; last events:\n${trail.join('\n')}`, { cause: error })
  }
  const reach = access(mesh)
  const apply = async (name: string, ...documents: readonly string[]): Promise<void> => {
    const versions = async (): Promise<string> =>
      JSON.stringify((await reach.statuses()).map(({ wantedVersion }) => wantedVersion))
    const before = await versions()
    await write(name, ...documents)
    await eventually(versions, (after) => after !== before, { what: `the effect of ${name}` })
    await reach.settled()
  }
  return { ...reach, apply, mesh, folder, stateFolder, events, write, stop }
}

/** Pipy is there in tests of its class only. */
export function sidecarBinaries(): { readonly envoy: string; readonly pipy?: string } {
  const { PIPY_BIN: pipy = '' } = process.env
  return { envoy: envoyBinary(), ...(pipy === '' ? {} : { pipy }) }
}

function access(
  mesh: RunningMesh,
): Omit<TestMesh, 'apply' | 'mesh' | 'folder' | 'stateFolder' | 'events' | 'write' | 'stop'> {
  const instance = (workload: string): RunningInstance => {
    const found =
      mesh.instances().find((each) => `${each.namespace}/${each.workload}` === workload) ??
      mesh.instances().find((each) => `${each.namespace}/${each.name}` === workload)
    if (found === undefined) throw new Error(`no instance of ${workload} runs`)
    return found
  }
  const variable = (workload: string, name: string): string => {
    const value = instance(workload).environment[name]
    if (value === undefined)
      throw new Error(`${workload} was given no ${name}: ${Object.keys(instance(workload).environment).join(', ')}`)
    return value
  }
  const debug = async (path: string): Promise<string> => {
    const url = mesh.controllerUrl()
    if (url === undefined) throw new Error('the controller does not answer')
    const get = (): Promise<Response> => fetch(`${url}${path}`)
    // The server may close an idle connection at the moment at which it is used again.
    const response = await get().catch(get)
    if (!response.ok) throw new Error(`${path} was answered ${response.status}`)
    return response.text()
  }
  const statuses = async (): Promise<readonly ProxyStatus[]> =>
    (JSON.parse(await debug('/debug/status')) as { proxies: readonly ProxyStatus[] }).proxies
  const allApplied = (ask: TestMesh['statuses'], what: string) =>
    eventually(ask, (all) => all.length > 0 && all.every(({ state }) => state === 'applied'), { what })
  return {
    instance,
    restartController: async (meanwhile = async () => undefined) => {
      const killed = mesh.controllerPid()
      if (killed === undefined) throw new Error('no controller runs')
      process.kill(killed, 'SIGKILL')
      await meanwhile()
      await eventually(
        () => mesh.controllerPid(),
        (pid) => pid !== undefined && pid !== killed,
        { what: 'a new controller' },
      )
      // The new controller may not answer yet.
      await allApplied(() => statuses().catch(() => []), 'that every proxy is back')
    },
    proxyOf: (workload) => variable(workload, 'HTTP_PROXY'),
    tcpAddress: (workload, service) =>
      variable(workload, `OSM_TCP_${service.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`),
    debug,
    statuses,
    atRest: () => atRest(statuses),
    isSettled: async () => (JSON.parse(await debug('/debug/status')) as { settled: boolean }).settled,
    status: async (workload) => {
      const { namespace, name: own } = instance(workload)
      const found = (await statuses()).find(({ name }) => name === `${namespace}/${own}`)
      if (found === undefined) throw new Error(`the controller knows no proxy of ${workload}`)
      return found
    },
    problems: async () => (JSON.parse(await debug('/debug/problems')) as { problems: readonly Problem[] }).problems,
    settled: async () => {
      await allApplied(statuses, 'that every proxy has applied its policy')
    },
  }
}

/** Ready means that everything runs; word of the last workload may still be on its way to the sidecars of its callers. */
async function atRest(statuses: TestMesh['statuses']): Promise<void> {
  let last = ''
  let since = performance.now()
  await eventually(
    statuses,
    (all) => {
      const now = JSON.stringify(all.map(({ uuid, wantedVersion, state }) => [uuid, wantedVersion, state]))
      if (now !== last || all.some(({ state }) => state !== 'applied')) since = performance.now()
      last = now
      // Longer than it takes from a file to a policy, the debounce included.
      return performance.now() - since > 750
    },
    { what: 'rest' },
  )
}
