import { cpus, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { measureAnalyze } from './analyze.js'
import { measureCertificateRatio } from './certificate-ratio.js'
import { measureCliStart } from './cli-start.js'
import { measureCluster } from './cluster.js'
import { measureContainment } from './containment.js'
import { measureConvergence } from './convergence.js'
import { measureClusterInjection } from './injection-cluster.js'
import { measureInjection } from './injection.js'
import { measureKubernetesSync } from './kubernetes-sync.js'
import { measureKwok } from './kwok/kwok.js'
import { measureLimits } from './limits/limits.js'
import { measureLiveEdit } from './live-edit.js'
import { measureLostRequests } from './lost-requests.js'
import { measureMachinesAtRest } from './machines-at-rest.js'
import { measurePolicyKinds } from './policy-kinds.js'
import type { MeshPrograms } from './sidecar-mesh.js'
import { measurePeers } from './peers/peers.js'
import { measurePipy } from './pipy.js'
import { measureRecomputation } from './recomputation.js'
import { measureColdStart } from './scale/cold-start.js'
import { measureConnections } from './scale/connections.js'
import { measureLarge } from './scale/large.js'
import { measureEndpoints, measureScale, measureServices } from './scale/scale.js'
import { measureSoak } from './soak/soak.js'
import { measureSidecarLatency } from './sidecar-latency.js'
import { measureSidecarThroughput } from './sidecar-throughput.js'
import { measureDrivers } from './translation-drivers.js'
import { measureTranslation } from './translation.js'

// The benchmarks. `--json` prints one JSON object as the last line of standard output; names choose some of them; `--quick` takes fewer repetitions; `--cycles` is the length of `soak`.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    // Of `limits`.
    proxies: { type: 'string' },
    // Of `soak`.
    cycles: { type: 'string' },
    'keep-per-cycle': { type: 'string' },
    // Of those with a controller in its own process.
    profiles: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
/** Those that run only when they are named, because of what they take, or because they are part of another. */
const named: readonly string[] = ['cluster', 'connections', 'endpoints', 'kwok', 'machines', 'services', 'peers']
/** Those that a quick run says nothing by: no leak shows in the few cycles that it has time for, and a small mesh is that of `permissive` once more. */
const unhurried: readonly string[] = ['soak', 'large']
type Name = keyof typeof benchmarks

async function run(): Promise<void> {
  const names = Object.keys(benchmarks) as Name[]
  const unknown = positionals.filter((name) => !Object.hasOwn(benchmarks, name))
  if (unknown.length > 0) {
    console.error(`unknown benchmark ${unknown.join(', ')}; known: ${names.join(', ')}`)
    process.exitCode = 2
    return
  }
  const leftOut = values.quick ? [...named, ...unhurried] : named
  const chosen = names.filter((name) =>
    positionals.length === 0 ? !leftOut.includes(name) : positionals.includes(name),
  )
  const results: Partial<Record<Name, unknown>> = {}
  const seconds: Partial<Record<Name, number>> = {}
  for (const [index, name] of chosen.entries()) {
    const start = performance.now()
    console.error(`${name} (${index + 1} of ${chosen.length}) …`)
    try {
      results[name] = await benchmarks[name]()
    } catch (error) {
      // What the others measured is worth having. A target that is missed is no failure; one that could not be measured is.
      console.error(error)
      results[name] = { failed: errorMessage(error) }
      process.exitCode = 1
    }
    seconds[name] = Math.round((performance.now() - start) / 100) / 10
    console.error(`${name}: ${seconds[name].toFixed(1)} s`)
  }
  const report = {
    machine: {
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      node: process.version,
    },
    quick: values.quick,
    seconds,
    ...results,
  }
  console.log(values.json ? JSON.stringify(report) : JSON.stringify(report, null, 2))
}

/** Path of a bundle of a package. */
function bundleOf(name: string, file: string): string {
  return new URL(`../../packages/${name}/dist/${file}`, import.meta.url).pathname
}

/** Runs what needs a real API server, and says why where there is none. */
async function onApiServer(measure: () => Promise<unknown>): Promise<unknown> {
  const { OSM_API_TIER_OBSTACLE: notRun } = process.env
  return notRun === undefined ? measure() : { notRun }
}

/** Processes of a mesh with simulated proxies. */
const scalePrograms = {
  controller: bundleOf('controller', 'osm-controller.mjs'),
  api: new URL('./bench-scale-api.mjs', import.meta.url).pathname,
  proxies: new URL('./bench-scale-proxies.mjs', import.meta.url).pathname,
  floor: new URL('./bench-floor.mjs', import.meta.url).pathname,
  ...(values.profiles === undefined ? {} : { profiles: resolve(values.profiles) }),
}

/** Programs that workloads of a mesh run. */
const applications = {
  server: new URL('../dataplane/support/apps/http-server.mjs', import.meta.url).pathname,
  idle: new URL('../dataplane/support/apps/idle.mjs', import.meta.url).pathname,
}

/** Programs of a mesh with real sidecars. */
function meshPrograms(): MeshPrograms {
  const envoy = process.env.ENVOY_BIN ?? ''
  if (envoy === '') throw new Error('ENVOY_BIN names no Envoy; `npm run bench` provides one')
  return {
    envoy,
    controllerProgram: bundleOf('standalone', 'controller.mjs'),
  }
}

/** go-control-plane, which `peers` measures beside the controller. */
function linearCacheProgram(): string {
  const program = process.env.LINEAR_CACHE_BIN ?? ''
  if (program === '') throw new Error('LINEAR_CACHE_BIN names no linear-cache; `npm run bench -- peers` provides one')
  return program
}

/** Numbers of proxies of `limits`: those that were asked for, or as many as fit the time. */
function limitSizes(): readonly number[] {
  if (values.proxies === undefined) return values.quick ? [500, 1000] : [1000, 2500, 5000, 10_000]
  const sizes = values.proxies.split(',').map(Number)
  // Fewer than a service's proxies and those of who may call it would be no mesh.
  if (!sizes.every((size) => size >= 200)) throw new Error('--proxies takes numbers of 200 at least, such as 1000,2000')
  return sizes
}

/** Requests through real Pipys; no registry has the program, so that a machine without one measures none of it, and says so. */
async function measurePipyTraffic(): Promise<unknown> {
  const pipy = process.env.PIPY_BIN ?? ''
  if (pipy === '') {
    const notRun = 'set PIPY_BIN to an executable of Pipy 1.5'
    console.error(`NO REQUEST WENT THROUGH A PIPY: ${notRun}`)
    return { notRun }
  }
  return measureSidecarThroughput({
    ...meshPrograms(),
    ...applications,
    pipy,
    loadProgram: new URL('./bench-sidecar-throughput-load.mjs', import.meta.url).pathname,
    connections: [1, 16, 64],
    ...(values.quick ? { turns: 1, warmUpMs: 300, turnMs: 1000 } : { turns: 5, warmUpMs: 500, turnMs: 4000 }),
  })
}

/** How each benchmark is run, at full length or quickly, in the order in which they run. */
const benchmarks = {
  certificates: () => measureCertificateRatio(),
  translation: async () => {
    const sizes = [10, 100, 1000]
    const results = []
    for (const services of sizes)
      results.push(await measureTranslation({ services, repetitions: values.quick ? 5 : 25 }))
    return results
  },
  drivers: () => Promise.resolve(measureDrivers({ services: 100, changes: values.quick ? 2 : 10 })),
  recomputation: () => Promise.resolve(measureRecomputation([100, 2000])),
  'policy-kinds': () =>
    Promise.resolve(
      measurePolicyKinds({ repetitions: values.quick ? { small: 2, large: 1 } : { small: 25, large: 5 } }),
    ),
  convergence: async () => {
    const results = []
    for (const clients of values.quick ? [1, 50] : [1, 50, 200])
      results.push(
        await measureConvergence({
          clients,
          services: 100,
          rounds: values.quick ? 6 : 100,
          warmUp: values.quick ? 2 : 10,
          programs: scalePrograms,
        }),
      )
    return results
  },
  containment: () =>
    measureContainment({
      clients: 50,
      services: 50,
      rounds: values.quick ? 6 : 100,
      warmUp: values.quick ? 2 : 20,
      turns: values.quick ? 1 : 2,
      programs: scalePrograms,
      hostProgram: bundleOf('driver-process', 'osm-driver-host.mjs'),
    }),
  scale: () =>
    measureScale({
      ...(values.quick
        ? { services: 100, affected: [20, 60], warmUp: 3, rounds: 10, storms: 1, noOpSeconds: 2, rolloutPods: 30 }
        : {
            services: 1000,
            affected: [100, 500],
            warmUp: 20,
            rounds: 200,
            storms: 3,
            noOpSeconds: 20,
            rolloutPods: 700,
          }),
      replicas: 2,
      rootCertificates: !values.quick,
      programs: scalePrograms,
    }),
  endpoints: () =>
    measureEndpoints({
      ...(values.quick
        ? { services: 100, affected: [60], warmUp: 3, rounds: 10 }
        : { services: 1000, affected: [100, 500], warmUp: 20, rounds: 100 }),
      replicas: 2,
      programs: scalePrograms,
    }),
  services: () =>
    measureServices({
      ...(values.quick ? { services: 100, affected: 40, rounds: 5 } : { services: 1000, affected: 200, rounds: 20 }),
      replicas: 2,
      programs: scalePrograms,
    }),
  connections: () =>
    measureConnections({
      ...(values.quick
        ? { services: 100, connected: 100, reconnected: 50, turns: 2, noOpSeconds: 5 }
        : { services: 1000, connected: 1000, reconnected: 500, turns: 8, noOpSeconds: 20 }),
      replicas: 2,
      programs: scalePrograms,
    }),
  peers: () =>
    measurePeers({
      ...(values.quick
        ? { services: 100, affected: [60], turns: 1, warmUp: 3, rounds: 5 }
        : { services: 1000, affected: [100, 500], turns: 3, warmUp: 5, rounds: 24 }),
      replicas: 2,
      programs: scalePrograms,
      linearCache: linearCacheProgram(),
    }),
  'cold-start': () =>
    measureColdStart({
      ...(values.quick ? { services: 100, starts: 2 } : { services: 1000, starts: 9 }),
      replicas: 2,
      programs: scalePrograms,
    }),
  permissive: () =>
    measureLarge({
      ...(values.quick
        ? { services: 100, connected: 40, affected: 40, warmUp: 2, rounds: 5 }
        : { services: 1000, connected: 500, affected: 500, warmUp: 5, rounds: 50 }),
      replicas: 2,
      permissive: true,
      programs: scalePrograms,
    }),
  large: () =>
    measureLarge({
      ...(values.quick
        ? { services: 500, connected: 100, affected: 20, warmUp: 2, rounds: 5 }
        : { services: 5000, connected: 1000, affected: 100, warmUp: 5, rounds: 50 }),
      replicas: 2,
      permissive: false,
      programs: scalePrograms,
    }),
  soak: async () => {
    const cycles = Number(values.cycles ?? (values.quick ? 6 : 40))
    if (!(cycles >= 6)) throw new Error('--cycles takes a number of 6 at least')
    const figures = await measureSoak({
      cycles,
      warmUp: values.quick ? 4 : 20,
      proxies: 120,
      keepPerCycle: Number(values['keep-per-cycle'] ?? 0),
      programs: { ...scalePrograms, probe: new URL('./bench-soak-probe.mjs', import.meta.url).href },
    })
    // Anyone who requests it wants to know; in a run of all it is a figure as others are.
    if (!figures.passed && positionals.includes('soak')) process.exitCode = 1
    return figures
  },
  limits: () =>
    measureLimits({
      program: new URL('./bench-limits.mjs', import.meta.url).pathname,
      sizes: limitSizes().map((proxies) => ({ proxies, replicas: 20, reach: 5, changes: values.quick ? 10 : 50 })),
      extrapolateTo: 50_000,
    }),
  pipy: async () => ({
    ...(await measurePipy({ workers: 50, rounds: values.quick ? 5 : 20 })),
    traffic: await measurePipyTraffic(),
  }),
  edit: () =>
    measureLiveEdit({
      ...meshPrograms(),
      rounds: values.quick ? 2 : 8,
      example: new URL('../../examples/bookstore', import.meta.url).pathname,
    }),
  machines: () =>
    measureMachinesAtRest({
      controllerProgram: bundleOf('standalone', 'controller.mjs'),
      machines: 1_000,
      roundSeconds: 10,
      seconds: values.quick ? 20 : 60,
    }),
  'lost-requests': () => measureLostRequests({ ...meshPrograms(), ...applications, changes: values.quick ? 50 : 200 }),
  'sidecar-latency': () =>
    measureSidecarLatency({
      ...meshPrograms(),
      ...applications,
      loadProgram: new URL('./bench-sidecar-latency-load.mjs', import.meta.url).pathname,
      warmUp: values.quick ? 300 : 2000,
      requests: values.quick ? 3000 : 20_000,
    }),
  'kubernetes-sync': () =>
    onApiServer(() =>
      measureKubernetesSync(
        values.quick
          ? { pods: 500, services: 100, namespaces: 10, rounds: 1 }
          : { pods: 5000, services: 1000, namespaces: 50, rounds: 2 },
      ),
    ),
  kwok: async () => {
    const {
      OSM_API_TIER_OBSTACLE: obstacle,
      OSM_KWOK: kwok,
      KUBE_CONTROLLER_MANAGER_BIN: controllerManager,
    } = process.env
    if (obstacle !== undefined) return { notRun: obstacle }
    if (kwok === undefined || controllerManager === undefined)
      throw new Error('OSM_KWOK names no kwok; `npm run bench -- kwok` provides one')
    return measureKwok({
      ...(values.quick
        ? { services: 100, connected: 60, starts: 2, churnSeconds: 15, rounds: 1 }
        : { services: 1000, connected: 200, starts: 9, churnSeconds: 120, rounds: 4 }),
      replicas: 10,
      perMinute: 500,
      programs: { ...scalePrograms, ...(JSON.parse(kwok) as { kwok: string; stages: string[] }), controllerManager },
    })
  },
  injection: () =>
    measureInjection({
      ...(values.quick
        ? { closedSeconds: 2, openSeconds: 1, warmUpSeconds: { server: 2, closed: 1, open: 1 } }
        : { closedSeconds: 20, openSeconds: 15, warmUpSeconds: { server: 8, closed: 4, open: 4 } }),
      programs: {
        injector: bundleOf('injector', 'osm-injector.mjs'),
        api: scalePrograms.api,
        floor: scalePrograms.floor,
        load: new URL('./bench-injection-load.mjs', import.meta.url).pathname,
      },
    }),
  'injection-cluster': () =>
    onApiServer(() =>
      measureClusterInjection({
        perSecond: 50,
        seconds: values.quick ? 5 : 20,
        injector: bundleOf('injector', 'osm-injector.mjs'),
      }),
    ),
  'cli-start': () =>
    measureCliStart({
      program: bundleOf('cli', 'osm.mjs'),
      rounds: 20,
    }),
  analyze: () =>
    measureAnalyze({
      program: bundleOf('cli', 'osm.mjs'),
      objects: 5000,
      rounds: values.quick ? 1 : 10,
    }),
  cluster: async () => {
    const { OSM_CLUSTER_TIER_OBSTACLE: obstacle, KUBECTL_BIN: kubectl = '', HELM_BIN: helm = '' } = process.env
    if (obstacle !== undefined) return { notRun: obstacle }
    const clusters = values.quick ? 1 : 3
    return measureCluster({ clusters, podStarts: 10, pods: 50, changes: values.quick ? 2 : 10, kubectl, helm })
  },
} satisfies Readonly<Record<string, () => Promise<unknown>>>

if (values.help) {
  console.log(
    `Usage: npm run bench -- [${Object.keys(benchmarks).join('|')}]... [--json] [--quick] [--cycles N] [--proxies N,N] [--profiles FOLDER]`,
  )
} else {
  await run()
}
