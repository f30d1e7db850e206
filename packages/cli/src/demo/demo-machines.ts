import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'

import { isRecord } from '@osm-ts/driver-api/toolkit'
import { leaveMachine, type RunningMesh, startMesh, statePaths } from '@osm-ts/standalone'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import type { LiveMesh, RunMeshOptions } from '../live/run-mesh.js'
import { makeFolderToken } from '../machine/make-token.js'
import { debugApi } from '../state/debug-api.js'
import { getByProxy, probePlace } from './sample-split.js'

/** Where the machines of a demo are started. */
export interface DemoMachinesOptions {
  /** Folder with the mesh of the virtual machine. */
  readonly vmFolder: string
  /** Folder with the programs. */
  readonly programs: string
  /** Folder for everything that the machines store, gone after the demo. */
  readonly scratch: string
  /** File that the endpoints provider reads. */
  readonly instancesFile: string
  readonly run: RunMeshOptions
}

/** The machines of a demo: they run elsewhere as far as the mesh knows. */
export interface DemoMachines {
  /** Their processes so far. */
  readonly pids: () => readonly number[]
  readonly stop: () => Promise<void>
}

const NAMESPACE = 'bookstore'
const ACCOUNT = 'bookstore'
const VM = { namespace: NAMESPACE, name: 'bookstore-vm' } as const
const SERVICE_PORT = 14_001
const PLACES = ['bookstore-vm', 'bookstore-pod', 'bookstore-onprem'] as const
const CALLER = 'bookbuyer'
/** How long the machines may take to answer, on a slow machine too. */
const ANSWER_MS = 120_000
const END_MS = 10_000
const LOOK_MS = 100
/** Ports from which the joined machine's sidecar gets its listeners: this many, from a free range of these. */
const LISTENERS = { first: 15_100, last: 15_999, count: 20 } as const

/**
 * Starts a virtual machine that an endpoints provider finds, and a machine that joins by `osm machine join`. Resolves when each place answers.
 *
 * The virtual machine has a control plane of its own, with the roots of the mesh. The other one is admitted by the mesh itself.
 */
export async function startDemoMachines(
  context: CliContext,
  live: LiveMesh,
  options: DemoMachinesOptions,
): Promise<DemoMachines> {
  const children: ChildProcess[] = []
  let vm: RunningMesh | undefined
  const state = join(options.scratch, 'onprem')
  const pids = (): readonly number[] =>
    [
      ...children.map(({ pid }) => pid),
      vm?.controllerPid(),
      ...(vm?.instances() ?? []).flatMap(({ pid, sidecarPid }) => [pid, sidecarPid]),
    ].filter((pid) => pid !== undefined)
  const stop = async (): Promise<void> => {
    const limit = AbortSignal.timeout(END_MS)
    // Its own end has removed the state before, if it never joined.
    await leaveMachine({ stateFolder: state, force: true, signal: limit }).catch(() => undefined)
    for (const child of children) await end(child)
    await vm?.stop()
  }
  try {
    vm = await startVm(live, options)
    await announce(vm, options.instancesFile, live.signal)
    await joinOnPremises(context, live, { ...options, state }, children)
    await untilAnswered(context, live)
    return { pids, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startVm(
  { mesh, signal }: LiveMesh,
  { vmFolder, scratch, run }: DemoMachinesOptions,
): Promise<RunningMesh> {
  const stateFolder = join(scratch, 'vm')
  mkdirSync(stateFolder, { mode: 0o700 })
  cpSync(statePaths(mesh.stateFolder).ca, statePaths(stateFolder).ca, { recursive: true })
  const { sidecarBinaries, controllerProgram, variables, driverPackages } = run
  const vm = await startMesh({
    folder: vmFolder,
    stateFolder,
    mode: 'explicit',
    sidecarBinaries,
    controllerProgram,
    ...(driverPackages !== undefined && { driverPackages }),
    onEvent: () => undefined,
    signal,
    environment: variables,
  })
  await vm.ready(ANSWER_MS)
  return vm
}

/** Writes what a provider of a cloud would find out: where the machine is, by the listener of its sidecar. */
async function announce(vm: RunningMesh, file: string, signal: AbortSignal): Promise<void> {
  const api = debugApi(vm.controllerUrl() ?? '', signal)
  const deadline = performance.now() + ANSWER_MS
  let endpoints: readonly { readonly address: string; readonly port: number }[] = []
  while (endpoints.length === 0) {
    if (performance.now() > deadline) throw notReady('the virtual machine has no listener', 'run the demo again')
    // Its listener is told a moment after it is there.
    await pause(LOOK_MS, undefined, { signal })
    endpoints = (await api.service(VM))?.endpoints ?? []
  }
  const instances = endpoints.map(({ address, port }) => ({
    id: 'vm-1',
    addresses: [address],
    ports: [{ name: 'http', port }],
    serviceAccount: ACCOUNT,
    sidecar: {},
  }))
  writeFileSync(file, JSON.stringify({ services: [{ service: VM, instances }] }))
}

async function joinOnPremises(
  { nodeProgram, programFolder }: CliContext,
  { mesh, signal }: LiveMesh,
  { programs, run, state }: DemoMachinesOptions & { readonly state: string },
  children: ChildProcess[],
): Promise<void> {
  const server = spawn(nodeProgram, [join(programs, 'bookstore.mjs')], {
    env: { ...run.variables, PORT: '0', IDENTITY: 'bookstore-onprem' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(server)
  const port = await portOf(server, signal)
  const grant = { namespace: NAMESPACE, serviceAccount: ACCOUNT, labels: { app: 'bookstore', place: 'onprem' } }
  const { text } = await makeFolderToken(mesh.stateFolder, grant, ANSWER_MS)
  const listeners = await freeRange()
  const sidecar = spawn(
    nodeProgram,
    [
      ...[join(programFolder, 'osm.mjs'), 'machine', 'join', mesh.machinesUrl() ?? '', '--state', state],
      // A demo that was killed has left its machine behind, under its name.
      ...['--name', `onprem-${process.pid}`, '--port', `http=${SERVICE_PORT}:${port}`, '--listeners', listeners],
      ...Object.entries(run.sidecarBinaries).flatMap(([name, path]) =>
        name === 'envoy' || name === 'pipy' ? [`--${name}`, path] : [],
      ),
      ...['-o', 'json'],
    ],
    { env: { ...run.variables, OSM_MACHINE_TOKEN: text }, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  children.push(sidecar)
}

/** The port that a program of the example says it listens on, in its first line. */
async function portOf(server: ChildProcess, signal: AbortSignal): Promise<number> {
  if (server.stdout === null) throw new TypeError('standard output must be a pipe')
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
  // Stays open: what the program says later must not fill the pipe.
  const [line] = (await once(createInterface({ input: server.stdout }), 'line', { signal: limit })) as [string]
  const said: unknown = JSON.parse(line)
  const listening = isRecord(said) ? String(said.listening) : ''
  return Number(listening.slice(listening.lastIndexOf(':') + 1))
}

/** A range of ports none of which is in use. */
async function freeRange(): Promise<string> {
  const { first, last, count } = LISTENERS
  for (let start = first; start + count <= last + 1; start += count) {
    const ports = Array.from({ length: count }, (_, index) => start + index)
    const free = await Promise.all(ports.map(isFree))
    if (free.every(Boolean)) return `${start}-${start + count - 1}`
  }
  throw cliError(
    'OSM_CLI_NOT_READY',
    `no ${count} ports in a row are free from ${first} to ${last}`,
    'free some of them',
  )
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}

/** Calls each place by its own Service, as the caller of the demo. */
async function untilAnswered({ nodeProgram }: CliContext, { mesh, signal }: LiveMesh): Promise<void> {
  const caller = mesh.instances().find(({ workload }) => workload === CALLER)
  const place = caller && probePlace(caller, nodeProgram)
  if (place?.kind !== 'proxy') throw new RangeError(`${CALLER} has no forward proxy`)
  const deadline = performance.now() + ANSWER_MS
  for (const name of PLACES)
    for (;;) {
      signal.throwIfAborted()
      const host = `${name}.${NAMESPACE}:${SERVICE_PORT}`
      const { status, error } = await getByProxy(place.proxy, { host, path: '/books-bought' }, signal)
      if (status === 200) break
      if (performance.now() > deadline)
        throw notReady(`${name} does not answer: ${error ?? `status ${status}`}`, 'look at osm mesh participants')
      await pause(LOOK_MS, undefined, { signal })
    }
}

function notReady(message: string, hint: string): Error {
  return cliError('OSM_CLI_NOT_READY', message, hint)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill()
  await ended
}
