import type { MeshEvent, MeshMode, MeshOptions, RunningMesh } from '@osm-ts/standalone'
import { YamlFolderSource } from '@osm-ts/core'
import { deferred } from '@osm-ts/driver-api/toolkit'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import { formatSeconds } from '../output/format.js'
import { showMilestones } from '../output/milestones.js'
import { plainLine } from '../output/style.js'
import { Convergence, type Converged } from './convergence.js'
import { MeshObserver } from './mesh-observer.js'
import { pollMesh } from './poll-mesh.js'
import { pageReader } from './sidecar-certificates.js'
import { untilQuiet } from './until-quiet.js'
import { wantedSplits, type WantedSplit } from './split-log.js'

/** How long the first configuration may take, on a slow machine too. */
const readyTimeoutMs = 120_000
/** Longer than the controller may gather changes before it acts on them. */
const quietMs = 1200
/** A mesh that never rests is used all the same. */
const quietLimitMs = 15_000

/** What {@link runMesh} needs. */
export interface RunMeshOptions {
  readonly folder: string
  /** The folder as the user knows it. */
  readonly shownFolder: string
  readonly stateFolder: string
  readonly mode: MeshMode
  readonly sidecarBinaries: Readonly<Record<string, string>>
  readonly controllerProgram: string
  /** Drivers beside those that are built in. */
  readonly driverPackages?: NonNullable<MeshOptions['driverPackages']>
  /** Endpoints providers, which find instances that this mesh does not start. */
  readonly endpointsProviders?: NonNullable<MeshOptions['endpointsProviders']>
  readonly maxDrainMs?: number
  readonly workloadApiSocket?: string
  /** Address of this machine at which other machines may join; none can if absent. */
  readonly machineAddress?: string
  readonly startMesh: (options: MeshOptions) => RunningMesh | Promise<RunningMesh>
  /** Environment of the mesh and its processes. */
  readonly variables: CliContext['variables']
  /** Told of every event, after the observer. */
  readonly onEvent?: (event: MeshEvent) => void
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A mesh that has applied its first configuration. */
export interface LiveMesh {
  readonly mesh: RunningMesh
  readonly observer: MeshObserver
  readonly converged: Converged
  /** Aborts when the mesh is to end. */
  readonly signal: AbortSignal
}

/**
 * Starts a mesh, shows how that goes, lets `use` work with it, and ends it whatever happened. The state of the mesh stays in the state folder;
 * processes and everything else that was made on the machine is gone when this resolves.
 *
 * @returns what `use` returned, or undefined if the user ended the mesh before it was ready
 */
export async function runMesh<T>(
  context: Pick<CliContext, 'cwd' | 'nodeProgram' | 'stderr' | 'signal'>,
  options: RunMeshOptions,
  use: (live: LiveMesh) => Promise<T>,
): Promise<T | undefined> {
  const ending = new AbortController()
  const signal = AbortSignal.any([context.signal, ending.signal])
  const observer = new MeshObserver({
    folder: options.shownFolder,
    cwd: context.cwd,
    mode: options.mode,
    now: options.now,
  })
  const convergence = new Convergence()
  const controller = deferred<undefined>()
  const failed = deferred<never>()
  // Milestones without a waiter must not count as unhandled rejections.
  failed.promise.catch(() => undefined)
  const onEvent = (event: MeshEvent): void => {
    observer.record(event)
    if (event.type === 'controller' && event.state === 'ready') controller.resolve(undefined)
    options.onEvent?.(event)
  }
  const abort = (): void => failed.reject(context.signal.reason)
  context.signal.addEventListener('abort', abort, { once: true })

  const shown = showMilestones(
    [
      { title: 'Starting the controller', reached: Promise.race([controller.promise, failed.promise]) },
      {
        title: 'Starting workloads and configuring sidecars',
        reached: Promise.race([convergence.settled(), failed.promise]).then(
          ({ connectedAt, appliedAt }) => `${formatSeconds(appliedAt - connectedAt)} after the last one connected`,
        ),
      },
    ],
    context.stderr,
  )
  let mesh: RunningMesh | undefined
  let background: Promise<unknown> = Promise.resolve()
  try {
    await watchSplits(options.folder, (splits) => observer.setSplits(splits), signal)
    mesh = await options.startMesh({
      folder: options.folder,
      stateFolder: options.stateFolder,
      mode: options.mode,
      sidecarBinaries: options.sidecarBinaries,
      controllerProgram: options.controllerProgram,
      ...(options.driverPackages !== undefined && { driverPackages: options.driverPackages }),
      ...(options.endpointsProviders !== undefined && { endpointsProviders: options.endpointsProviders }),
      ...(options.maxDrainMs !== undefined && { maxDrainMs: options.maxDrainMs }),
      ...(options.workloadApiSocket !== undefined && { workloadApiSocket: options.workloadApiSocket }),
      ...(options.machineAddress !== undefined && { machineAddress: options.machineAddress }),
      onEvent,
      signal: context.signal,
      environment: options.variables,
    })
    background = pollMesh(mesh, observer, {
      signal,
      now: options.now,
      pagesOf: (instance) => pageReader(instance, options.mode, context.nodeProgram, signal),
      onStatuses: (statuses, expected, now) => convergence.look(statuses, expected, now),
    })
    const ready = Promise.all([mesh.ready(readyTimeoutMs), convergence.settled()])
    const [, converged] = await Promise.race([ready, failed.promise, deadline(readyTimeoutMs, signal)])
    await shown
    await untilQuiet(() => observer.view().proxies, { quietMs, limitMs: quietLimitMs, now: options.now, signal })
    // What programs met while their sidecars were being configured says nothing about the policy.
    observer.restart()
    return await use({ mesh, observer, converged, signal })
  } catch (error) {
    failed.reject(error)
    await shown
    if (context.signal.aborted) return undefined
    for (const line of observer.errorLines()) context.stderr.write(`  ${plainLine(line)}\n`)
    throw error
  } finally {
    ending.abort()
    context.signal.removeEventListener('abort', abort)
    await background
    if (mesh !== undefined) await stop(mesh, context.stderr)
  }
}

async function stop(mesh: RunningMesh, stderr: NodeJS.WriteStream): Promise<void> {
  const stopping = mesh.stop()
  await showMilestones(
    [{ title: 'Stopping workloads, sidecars and controller', reached: stopping.then(() => undefined) }],
    stderr,
  )
  // Shown above as failed, told here as an error.
  await stopping
}

/** Rejects after the time. Its timer keeps no program alive. */
async function deadline(milliseconds: number, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(() => {
      const seconds = Math.round(milliseconds / 1000)
      reject(
        cliError(
          'OSM_CLI_NOT_READY',
          `the mesh was not ready after ${seconds} seconds`,
          'osm proxy status and the lines above show what is missing',
        ),
      )
    }, milliseconds)
    timer.unref()
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
  })
}

/** Reads the TrafficSplits of a folder, now and after every change. Resolves when they were read once; ends with the signal. */
async function watchSplits(
  folder: string,
  onSplits: (splits: readonly WantedSplit[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const source = new YamlFolderSource({ folder })
  await source.start(signal)
  const tell = (): void => onSplits(wantedSplits(source.objects()))
  source.subscribe(tell)
  tell()
}
