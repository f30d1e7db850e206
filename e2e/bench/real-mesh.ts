import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import type { ProxyStatus } from '@osm-ts/core'
import { type RunningMesh, startMesh } from '@osm-ts/standalone'
import { until } from '@osm-ts/driver-api/toolkit'

/** Where the programs of a mesh are. */
export interface MeshPrograms {
  readonly envoy: string
  /** Only for meshes of its class. */
  readonly pipy?: string
  /** Class of the sidecars; Envoy where nothing is said. */
  readonly sidecarClass?: string
  readonly controllerProgram: string
}

/** A mesh with real sidecars, in explicit mode, over its own folder. */
export class RealMesh {
  readonly mesh: RunningMesh
  /** A folder for whatever else a benchmark writes; it is removed in the end. */
  readonly scratch: string
  readonly #folder: string
  readonly #abort: AbortController

  private constructor(mesh: RunningMesh, scratch: string, folder: string, abort: AbortController) {
    this.mesh = mesh
    this.scratch = scratch
    this.#folder = folder
    this.#abort = abort
  }

  /**
   * Starts a mesh, and waits until it is at rest.
   *
   * @param fill - puts what is needed into a new folder and gives the part of it that the mesh reads
   */
  static async start(programs: MeshPrograms, fill: (scratch: string) => Promise<string>): Promise<RealMesh> {
    const scratch = await mkdtemp(join(tmpdir(), 'osm-bench-mesh-'))
    const abort = new AbortController()
    const folder = await fill(scratch)
    const mesh = await startMesh({
      folder,
      stateFolder: join(scratch, 'state'),
      mode: 'explicit',
      sidecarBinaries: {
        envoy: programs.envoy,
        ...(programs.pipy === undefined ? {} : { pipy: programs.pipy }),
      },
      controllerProgram: programs.controllerProgram,
      onEvent: () => undefined,
      signal: abort.signal,
      environment: {
        ...process.env,
        ...(programs.sidecarClass === undefined ? {} : { OSM_DEFAULT_SIDECAR_CLASS: programs.sidecarClass }),
      },
    })
    const started = new RealMesh(mesh, scratch, folder, abort)
    try {
      await mesh.ready(60_000)
      await started.quiet()
      return started
    } catch (error) {
      await started.stop()
      throw error
    }
  }

  /** Starts a mesh of some files. */
  static of(programs: MeshPrograms, files: Readonly<Record<string, readonly string[]>>): Promise<RealMesh> {
    return RealMesh.start(programs, async (scratch) => {
      const folder = join(scratch, 'mesh')
      await mkdir(folder)
      for (const [name, documents] of Object.entries(files))
        await writeFile(join(folder, name), documents.join('---\n'))
      return folder
    })
  }

  /** Writes a file the way an editor does: as a whole. */
  async write(file: string, text: string): Promise<void> {
    await writeFile(join(this.scratch, file), text)
    await rename(join(this.scratch, file), join(this.#folder, file))
  }

  /** Replaces a text in a file. */
  async edit(file: string, from: string, to: string): Promise<void> {
    const text = await readFile(join(this.#folder, file), 'utf8')
    if (!text.includes(from)) throw new Error(`${file} holds no "${from}"`)
    await this.write(file, text.replace(from, to))
  }

  /** Address of the forward proxy of a workload's sidecar. */
  proxyOf(workload: string): { readonly host: string; readonly port: number } {
    const proxy = this.mesh.instances().find((instance) => instance.workload === workload)?.environment.HTTP_PROXY
    if (proxy === undefined) throw new Error(`${workload} was given no HTTP_PROXY`)
    const { hostname, port } = new URL(proxy)
    return { host: hostname, port: Number(port) }
  }

  async statuses(): Promise<readonly ProxyStatus[]> {
    const response = await fetch(`${this.mesh.controllerUrl() ?? ''}/debug/status`)
    return ((await response.json()) as { readonly proxies: readonly ProxyStatus[] }).proxies
  }

  /** Waits until nothing has changed for longer than a change takes. */
  async quiet(): Promise<void> {
    let last = ''
    let since = performance.now()
    await until(async () => {
      const all = await this.statuses()
      const now = JSON.stringify(all.map(({ uuid, wantedVersion, state }) => [uuid, wantedVersion, state]))
      if (now !== last || all.some(({ state }) => state !== 'applied')) since = performance.now()
      last = now
      await pause(40)
      return performance.now() - since > 600
    }, 'a mesh at rest')
  }

  async stop(): Promise<void> {
    await this.mesh.stop()
    this.#abort.abort()
    await rm(this.scratch, { recursive: true, force: true })
  }
}
