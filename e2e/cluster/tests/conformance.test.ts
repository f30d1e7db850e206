import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { runConformance } from '@osm-ts/driver-testkit'
import { bundleModule } from '../../../tools/lib/bundle.mjs'
import { clusterTest } from '../support/failure-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 540_000

/** What a report says, as far as it matters here. */
interface Reported {
  readonly level: number
  readonly environment: { readonly kubernetes: string; readonly sidecar: string }
  readonly reproduce: readonly string[]
  readonly results: readonly { readonly id: string; readonly outcome: string; readonly reason?: string }[]
}

let cluster: SharedCluster
let mesh: Mesh
let folder: string

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)

beforeAll(async () => {
  cluster = SharedCluster.open()
  folder = await mkdtemp(join(tmpdir(), 'osm-conformance-'))
  mesh = await Mesh.install(cluster, { name: 'conformance' })
  await bundleModule('packages/driver-envoy/src/index.ts', join(folder, 'envoy/main.js'))
  await bundleModule('packages/driver-testkit/src/pod-app-main.ts', join(folder, 'pod-app.mjs'))
  const manifest = { name: 'driver-envoy', version: '1.2.3', type: 'module', exports: './main.js' }
  await writeFile(join(folder, 'envoy/package.json'), JSON.stringify(manifest))
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
  await rm(folder, { recursive: true, force: true })
}, setUpTimeoutMs)

/** Runs it as its program does, but for the program of the pods, which is compiled for tests. */
const run = async (signal: AbortSignal, ...more: readonly string[]) => {
  const said = { out: '', err: '' }
  const place = ['--kubeconfig', cluster.kubeconfig, '--kubectl', cluster.kubectlPath]
  const app = ['--app-image', cluster.image('test-app'), '--app-node', '/nodejs/bin/node']
  const args = ['--driver', 'envoy', '--level', '2', '--only', 'cluster.', '--osm-namespace', mesh.namespace]
  const code = await runConformance([...args, ...place, ...app, '-o', 'json', ...more], {
    folder,
    environment: process.env,
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    signal,
    now: () => new Date(),
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    podApp: join(folder, 'pod-app.mjs'),
  })
  return { code, ...said }
}

/** Namespaces of the suite that no one has told to go. */
const left = async (): Promise<readonly string[]> => {
  interface Namespace {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
  }
  const { items } = await cluster.kubectl.get<{ readonly items: readonly Namespace[] }>(['namespaces'])
  return items.flatMap(({ metadata: { name, deletionTimestamp } }) =>
    name.startsWith('osm-conformance-') && deletionTimestamp === undefined ? name : [],
  )
}

describe('level 2 of the conformance suite', () => {
  test('finds that class envoy does in a cluster what its driver declares, and takes away what it made', async () => {
    const { code, out, err } = await run(new AbortController().signal, '--report', 'reports')
    const { level, environment, reproduce, results } = JSON.parse(out) as Reported
    expect([results.filter(({ outcome }) => outcome !== 'passed'), err]).toEqual([[], err])
    expect(code).toBe(0)
    expect(level).toBe(2)
    expect(environment).toMatchObject({
      kubernetes: expect.stringMatching(/^v1\./),
      sidecar: expect.stringContaining('envoy'),
    })
    expect(reproduce).toContain('npx driver-testkit --driver driver-envoy --level 2 --kubeconfig <file>')
    expect(results.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['cluster.identity', 'cluster.without-dns-proxy']),
    )
    const page = await readFile(join(folder, 'reports/conformance.html'), 'utf8')
    expect(page).toContain('Level 2')
    expect(page).not.toContain(folder)
    expect(await left()).toEqual([])
  })

  test('takes away what it made when it is stopped', async () => {
    const stop = new AbortController()
    const running = run(stop.signal)
    const isThere = async (): Promise<true | undefined> => ((await left()).length === 2 ? true : undefined)
    await waitUntil('the namespaces of the suite', isThere, {
      timeoutMs: 120_000,
      signal: AbortSignal.timeout(120_000),
    })
    stop.abort()
    const { code } = await running
    expect(code).toBe(1)
    expect(await left()).toEqual([])
  })
})
