import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileCaStore } from '@osm-ts/core'
import { type RunningMesh, startMesh, statePaths } from '@osm-ts/standalone'
import { root } from '../../../tools/lib/paths.mjs'
import { envoyBinary } from '../../dataplane/support/mesh.js'
import type { Mesh } from './mesh.js'

const limitMs = 120_000
const secrets = { workload: 'osm-ca-bundle', 'control-plane': 'osm-ca-bundle-control-plane' } as const

/** A control plane without Kubernetes, on this machine, that shares the roots of a mesh of the cluster: machines of a cloud join it. */
export interface MachinesMesh {
  /** Where machines join. */
  readonly url: string
  /** Makes a token, as `osm machine token` prints it. */
  token(account: string, namespace: string, app: string): Promise<string>
  stop(): Promise<void>
}

/**
 * Starts it.
 *
 * @param address - of this machine, at which machines reach it
 */
export async function startMachinesMesh(
  mesh: Mesh,
  address: string,
  objects: readonly object[],
): Promise<MachinesMesh> {
  const scratch = await mkdtemp(join(tmpdir(), 'osm-machines-'))
  const stateFolder = join(scratch, 'state')
  const folder = join(scratch, 'mesh')
  await mkdir(folder)
  await writeFile(join(folder, 'mesh.yaml'), objects.map((object) => JSON.stringify(object)).join('\n---\n'))
  const store = new FileCaStore(statePaths(stateFolder).ca)
  for (const [authority, name] of Object.entries(secrets)) {
    const { data } = await mesh.cluster.kubectl.get<{ readonly data: Readonly<Record<string, string>> }>([
      'secret',
      name,
      '-n',
      mesh.namespace,
    ])
    const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString()
    await store.create(authority as keyof typeof secrets, text('ca.crt'), text('private.key'))
  }
  const running: RunningMesh = await startMesh({
    folder,
    stateFolder,
    mode: 'explicit',
    machineAddress: address,
    sidecarBinaries: { envoy: envoyBinary() },
    controllerProgram: join(root, 'packages/standalone/dist/controller.mjs'),
    onEvent: () => undefined,
    signal: new AbortController().signal,
    environment: process.env,
  })
  const stop = async (): Promise<void> => {
    await running.stop()
    await rm(scratch, { recursive: true, force: true })
  }
  try {
    await running.ready(limitMs)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: running.machinesUrl() ?? '',
    token: async (account, namespace, app) =>
      (await machineToken(mesh, ['--state', stateFolder], { account, namespace, app })).token,
    stop,
  }
}

/** Makes a token for a machine, of the mesh that the options name. */
export async function machineToken(
  mesh: Mesh,
  options: readonly string[],
  { account, namespace, app }: { readonly account: string; readonly namespace: string; readonly app: string },
): Promise<{ readonly token: string; readonly controlPlane: string }> {
  const grant = ['-n', namespace, '-a', account, '-l', `app=${app}`]
  const { code, stdout, stderr } = await mesh.osm('machine', 'token', ...grant, ...options, '-o', 'json')
  if (code !== 0) throw new Error(`osm machine token failed with ${code}: ${stderr}`)
  return JSON.parse(stdout) as { readonly token: string; readonly controlPlane: string }
}
