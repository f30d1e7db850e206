import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { customResourceDefinitions, type KubernetesApi, type ResourceType, resourceTypes } from '@osm-ts/kubernetes'
import { programsFrom, startApiServer, type ChildProgram, type OwnApiServer } from './harness/index.js'
import {
  Objects,
  osmNamespace,
  presetSpec,
  startBootstrap,
  until,
  untilReady,
  webhooksOf,
} from './support/bootstrap.js'

const { CustomResourceDefinition, MeshConfig, MutatingWebhookConfiguration, Secret, ValidatingWebhookConfiguration } =
  resourceTypes
const mutating = 'osm-webhook-osm'
const validating = 'osm-validator-mesh-osm'
const secrets = ['osm-ca-bundle', 'osm-ca-bundle-control-plane']
const definitions = customResourceDefinitions()
const signal = AbortSignal.timeout(900_000)

let server: OwnApiServer
let api: KubernetesApi
let objects: Objects
const started: ChildProgram[] = []

beforeAll(async () => {
  server = await startApiServer(programsFrom(process.env), signal)
  api = server.client.api
  objects = new Objects(api, signal)
  await objects.createNamespace(osmNamespace)
  await objects.putPreset(presetSpec)
})

/** Every test begins in a cluster in which no mesh ever was. */
beforeEach(async () => {
  for (const { metadata } of definitions) await objects.delete(CustomResourceDefinition, metadata.name)
  await objects.delete(MutatingWebhookConfiguration, mutating)
  await objects.delete(ValidatingWebhookConfiguration, validating)
  for (const name of secrets) await objects.delete(Secret, name)
  await until(async () => (await count()) === 0)
})

afterEach(async () => {
  await Promise.all(started.splice(0).map((program) => program.stop()))
})

afterAll(() => server.stop())

function bootstrap(...args: readonly string[]): ChildProgram {
  const program = startBootstrap(server.client, ...args)
  started.push(program)
  return program
}

/** How many of our definitions there are. */
async function count(): Promise<number> {
  const names = new Set(definitions.map(({ metadata }) => metadata.name))
  const { items } = await api.list(CustomResourceDefinition, {}, signal)
  return items.filter(({ metadata }) => names.has(metadata.name)).length
}

const exists = async (type: ResourceType, name: string): Promise<boolean> =>
  (await objects.get(type, name)) !== undefined

async function expectComplete(): Promise<void> {
  expect(await count()).toBe(definitions.length)
  expect((await objects.get(MeshConfig, 'osm-mesh-config'))?.spec).toMatchObject(presetSpec)
  const root = await objects.controlPlaneRoot()
  expect(root).toContain('BEGIN CERTIFICATE')
  expect(await objects.trusted(MutatingWebhookConfiguration, mutating)).toBe(root)
  expect(await objects.trusted(ValidatingWebhookConfiguration, validating)).toBe(root)
}

describe('kill -9', () => {
  const points: readonly (readonly [string, () => Promise<boolean>])[] = [
    ['before the first definition', async () => true],
    ['after the first definition', async () => (await count()) > 0],
    ['amid the definitions', async () => (await count()) > definitions.length / 2],
    ['after the last definition', async () => (await count()) === definitions.length],
    [
      'after the MeshConfig',
      async () => (await objects.get(MeshConfig, 'osm-mesh-config').catch(() => undefined)) !== undefined,
    ],
    ['after the first root', () => exists(Secret, 'osm-ca-bundle-control-plane')],
    ['after the second root', () => exists(Secret, 'osm-ca-bundle')],
    ['after the first webhook configuration', () => exists(MutatingWebhookConfiguration, mutating)],
  ]

  it.each(points)('%s leaves what the next start completes', async (_point, reached) => {
    const first = bootstrap()
    await until(reached, first)
    await first.kill()
    const roots = await Promise.all(secrets.map((name) => objects.get(Secret, name)))
    await untilReady(bootstrap())
    await expectComplete()
    // What was stored of the authority stays as it was.
    for (const [index, name] of secrets.entries()) {
      if (roots[index] !== undefined) expect(await objects.get(Secret, name)).toEqual(roots[index])
    }
  })
})

describe('two bootstraps', () => {
  it('that start at once bring in one mesh, and restore together', async () => {
    const programs = [bootstrap('--enable-reconciler'), bootstrap('--enable-reconciler')]
    await Promise.all(programs.map(untilReady))
    await expectComplete()
    const before = JSON.stringify(webhooksOf(await objects.get(MutatingWebhookConfiguration, mutating)))
    await objects.delete(MutatingWebhookConfiguration, mutating)
    await until(
      async () => JSON.stringify(webhooksOf(await objects.get(MutatingWebhookConfiguration, mutating))) === before,
    )
    await expectComplete()
    for (const program of programs) expect(program.isRunning).toBe(true)
  })
})

describe('an API server that is away', () => {
  it('is waited for at the start, with a line that says so', async () => {
    await server.kill()
    const program = bootstrap()
    await until(() => program.log().includes('OSM_KUBERNETES_UNREACHABLE'), program)
    expect(program.isRunning).toBe(true)
    await server.start(signal)
    await untilReady(program)
    await expectComplete()
  })

  it('does not keep what was altered from being restored when it is back', async () => {
    const program = bootstrap('--enable-reconciler')
    await untilReady(program)
    const before = JSON.stringify(webhooksOf(await objects.get(MutatingWebhookConfiguration, mutating)))
    // The program hears nothing of the change: it is stopped while the connection breaks.
    await program.pause()
    await objects.delete(MutatingWebhookConfiguration, mutating)
    await server.restart(signal)
    program.signal('SIGCONT')
    await until(
      async () => JSON.stringify(webhooksOf(await objects.get(MutatingWebhookConfiguration, mutating))) === before,
      program,
    )
    expect(program.isRunning).toBe(true)
  })
})
