import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { freePort } from '../../api/support/controller-process.js'
import { writeKubeconfig } from '../local-api.js'
import { MeshApi } from './api.js'
import type { ControllerOptions } from './controller.js'
import { scaleMesh, type ScaleSize } from './mesh.js'

/** Bundles of the processes of a benchmark of scale. */
export interface ScalePrograms {
  readonly controller: string
  readonly api: string
  readonly proxies: string
  readonly floor: string
  /** Loaded into the controller, see soak/probe-main.ts; absent: the controller runs as it is. */
  readonly probe?: string
  /** See `profiles` of {@link ControllerOptions}. */
  readonly profiles?: string
}

/** A mesh in an API server, and how a controller of it is started. */
export interface MeshServer {
  readonly api: MeshApi
  readonly start: ControllerOptions
  /** Where the controller serves proxies. */
  readonly proxyPort: number
  readonly close: () => Promise<void>
}

/** Starts an API server with a generated mesh. */
export async function serveMesh(size: ScaleSize, programs: ScalePrograms): Promise<MeshServer> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-scale-'))
  const proxyPort = await freePort()
  const api = await MeshApi.start(programs.api)
  await api.put(scaleMesh(size, proxyPort))
  const { controller: program, probe, profiles } = programs
  return {
    api,
    start: { program, folder, kubeconfig: writeKubeconfig(folder, api.url), probe, profiles },
    proxyPort,
    close: async () => {
      await api.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
