import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { packageIntegrity } from '@osm-ts/driver-process'
import { until } from '@osm-ts/driver-api/toolkit'

import { startTestMesh, type TestMesh } from '../dataplane/support/mesh.js'
import { account, meshConfig, service } from '../dataplane/support/yaml.js'
import { childrenOf, cpuSecondsOf } from './scale/process-figures.js'

/** Processor time of a controller whose mesh does not change, in percent of a core. */
export interface MachinesAtRest {
  readonly machines: number
  /** Seconds between two answers of the provider, each with all machines. */
  readonly roundSeconds: number
  /** With these machines. */
  readonly controllerPercent: number
  /** The same without machines and without a provider. */
  readonly emptyControllerPercent: number
  /** Of the process of the provider. */
  readonly providerPercent: number
}

/** What is measured. */
export interface MachinesAtRestOptions {
  readonly controllerProgram: string
  readonly machines: number
  readonly roundSeconds: number
  readonly seconds: number
}

/** A provider that tells all its machines in each round, as those of clouds do that ask an API. */
const providerSource = (machines: number, roundSeconds: number): string => `
const service = { namespace: 'shop', name: 'store' }
const instances = Array.from({ length: ${machines} }, (_, n) => ({
  id: 'vm-' + n, addresses: ['192.0.' + (n >> 8) + '.' + (n & 255)], ready: true, serviceAccount: 'store', sidecar: {},
  ports: [{ name: 'main', port: 8080 }], locality: { region: 'here', zone: 'here-' + (n % 3), subZone: '' },
}))
export const endpointsProvider = {
  name: 'rounds', contractVersion: 1, resourceKinds: [], settingsSchema: { type: 'object' },
  async start({ signal, publish }) {
    const tell = () => publish({ services: [{ service, instances: instances.map((each) => ({ ...each })) }] })
    tell()
    const timer = setInterval(tell, ${roundSeconds * 1_000})
    return { stopped: new Promise((resolve) => signal.addEventListener('abort', () => resolve(clearInterval(timer)))) }
  },
}
`

/** Measures a mesh at rest, without machines and with many of a provider. */
export async function measureMachinesAtRest(options: MachinesAtRestOptions): Promise<MachinesAtRest> {
  const { machines, roundSeconds } = options
  const empty = await restOf({ ...options, machines: 0 })
  const full = await restOf(options)
  return {
    machines,
    roundSeconds,
    controllerPercent: full.controller,
    emptyControllerPercent: empty.controller,
    providerPercent: full.provider,
  }
}

async function restOf({
  controllerProgram,
  machines,
  roundSeconds,
  seconds,
}: MachinesAtRestOptions): Promise<{ readonly controller: number; readonly provider: number }> {
  const provider = await mkdtemp(join(tmpdir(), 'osm-bench-machines-'))
  await writeFile(join(provider, 'index.mjs'), providerSource(machines, roundSeconds))
  await writeFile(
    join(provider, 'package.json'),
    '{ "name": "rounds", "version": "1.0.0", "type": "module", "main": "index.mjs" }',
  )
  const entry = {
    name: 'rounds',
    package: { path: provider, integrity: await packageIntegrity(provider) },
    settings: {},
    variables: [],
    heapMb: 256,
    residentMb: 512,
  }
  const documents = [
    meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
    account('shop/store'),
    service('shop/store', 'store', 8080, { protocol: 'http' }),
  ]
  const mesh = await startTestMesh(
    { 'mesh.yaml': documents },
    { controllerProgram, ...(machines > 0 && { endpointsProviders: [entry] }) },
  )
  try {
    await until(async () => (await endpointsOf(mesh)) === machines, `${machines} endpoints`)
    const controller = mesh.mesh.controllerPid() ?? 0
    const [child] = await childrenOf(controller)
    const cpu = async (): Promise<readonly [number, number]> => [
      await cpuSecondsOf(controller),
      child === undefined ? 0 : await cpuSecondsOf(child),
    ]
    // What a start leaves to be compiled and collected is done by then.
    await pause(roundSeconds * 1_000)
    const [before, start] = [await cpu(), performance.now()]
    await pause(seconds * 1_000)
    const [after, passed] = [await cpu(), (performance.now() - start) / 1_000]
    const percent = (index: 0 | 1): number => Math.round(((after[index] - before[index]) / passed) * 10_000) / 100
    return { controller: percent(0), provider: percent(1) }
  } finally {
    await mesh.stop()
    await rm(provider, { recursive: true })
  }
}

/** Endpoints of the Service, as the controller has them. */
async function endpointsOf({ debug }: TestMesh): Promise<number> {
  const answer = JSON.parse(await debug('/debug/services?service=shop/store')) as {
    readonly endpoints?: readonly object[]
  }
  return answer.endpoints?.length ?? 0
}
