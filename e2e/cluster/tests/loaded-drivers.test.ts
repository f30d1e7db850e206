import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { testDriverFiles } from '../../../tools/images/test-images.mjs'
import { driverMemory, integrityOf } from '../support/driver-package.js'
import { works } from '../support/expectations.js'
import { clusterTest } from '../support/failure-report.js'
import { underLoad } from '../support/load.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'
import type { TestNamespace } from '../support/test-namespace.js'
import { deployment, server } from '../support/workloads.js'
import { waitUntil } from '../wait-until.js'

const setUpTimeoutMs = 540_000
const testTimeoutMs = 400_000
const limitMs = 120_000
const envoyImage = 'envoyproxy/envoy:distroless-v1.40.0'
const url = 'http://server.loaded:8080/'

let cluster: SharedCluster
let mesh: Mesh
let namespace: TestNamespace
let integrity: string

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, testTimeoutMs)

/** Values of a mesh that has class acme from somewhere. */
const values = (place: Readonly<Record<string, unknown>>, digest = integrity) => ({
  enablePermissiveTrafficPolicy: true,
  // osm asks it.
  enableDebugServer: true,
  sidecarDrivers: [
    { sidecarName: 'envoy', sidecarImage: envoyImage },
    { sidecarName: 'acme', sidecarImage: envoyImage, proxyServerPort: 15_200 },
  ],
  driverPackages: [{ name: 'acme', integrity: digest, ...place }],
  ...driverMemory,
})

/** In images of one's own, FROM those of osm-ts. */
const inImages = () => ({
  ...values({ path: '/drivers/acme' }),
  image: { name: { osmController: 'osm-controller-acme', osmInjector: 'osm-injector-acme' } },
})

/** From an image of the driver, copied by an init container to images that know nothing of it. */
const byInitContainer = (digest = integrity) =>
  values(
    {
      initContainer: {
        image: cluster.image('osm-controller-acme'),
        command: ['/nodejs/bin/node', '-e'],
        args: ["fs.cpSync('/drivers/acme', '/osm-drivers/acme', { recursive: true })"],
      },
    },
    digest,
  )

beforeAll(async () => {
  cluster = SharedCluster.open()
  integrity = await integrityOf(testDriverFiles(), cluster)
  mesh = await Mesh.install(cluster, { name: 'loaded', values: inImages() })
  namespace = await mesh.createNamespace('loaded')
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
}, setUpTimeoutMs)

/** What `osm` tells of this mesh. The exit code is about drivers and proxies, not about the answer. */
async function said(...command: readonly string[]): Promise<unknown> {
  const { stdout, stderr } = await mesh.osm(...command, '-o', 'json', '--osm-namespace', mesh.namespace)
  if (stdout === '') throw new Error(`osm ${command.join(' ')} said nothing: ${stderr}`)
  return JSON.parse(stdout)
}

/** Classes of the sidecars of a namespace that are connected. */
async function classesOf(name: string): Promise<readonly string[]> {
  const { proxies } = (await said('proxy', 'status', '-n', name)) as {
    readonly proxies: readonly { readonly class: string; readonly connected: boolean }[]
  }
  return proxies.filter(({ connected }) => connected).map((proxy) => proxy.class)
}

type DriverInList = Readonly<Record<string, unknown>>

/** Waits until class acme is like that in every controller: those of the release before may not be gone yet. */
async function acmeBecomes(expected: DriverInList): Promise<void> {
  let last: unknown
  const ask = async (): Promise<true | undefined> => {
    last = await said('driver', 'list').catch((error: unknown) => error)
    // A controller may end while it is asked.
    if (last instanceof Error) return undefined
    const { controllers } = last as {
      readonly controllers: readonly { readonly drivers: readonly DriverInList[] }[]
    }
    const found = controllers.flatMap(({ drivers }) => drivers.filter(({ name }) => name === 'acme'))
    const isThere = found.length > 0 && found.every((driver) => isDeepStrictEqual({ ...driver, ...expected }, driver))
    return isThere || undefined
  }
  try {
    await waitUntil(`class acme as ${JSON.stringify(expected)}`, ask, within(limitMs))
  } catch (cause) {
    throw new Error(`${String(cause)}; last: ${last instanceof Error ? last.message : JSON.stringify(last)}`, { cause })
  }
}

const within = (timeoutMs: number) => ({ timeoutMs, signal: AbortSignal.timeout(2 * timeoutMs) })

const ofAcme = { 'openservicemesh.io/sidecar-class': 'acme' }
const isReady = { state: 'ready', origin: 'package', version: '1.2.3' }

describe('a driver package', () => {
  test("in images of one's own gives a class that pods choose, and that speaks with others", async () => {
    await acmeBecomes(isReady)
    const { name, image } = namespace
    await namespace.run(
      deployment({ name: 'client', namespace: name, image }),
      deployment({ name: 'acme-client', namespace: name, image, annotations: ofAcme }),
      server({ name: 'server', namespace: name, image, ports: { 8080: 'http' }, annotations: ofAcme }),
    )
    await works(namespace.caller('deploy/client'), url)
    await works(namespace.caller('deploy/acme-client'), url)
    const { proxies } = (await said('proxy', 'status')) as { readonly proxies: readonly { readonly class: string }[] }
    expect(proxies.map((proxy) => proxy.class).sort()).toEqual(['acme', 'acme', 'envoy'])
  })

  test('takes over a namespace that had another class, while its pods are called', async () => {
    const moving = await mesh.createNamespace('moving')
    const { name, image } = moving
    await moving.run(
      deployment({ name: 'client', namespace: name, image }),
      server({ name: 'server', namespace: name, image, ports: { 8080: 'http' }, replicas: 2, linger: 5 }),
    )
    const address = `http://server.${name}:8080/`
    await works(moving.caller('deploy/client'), address)
    await works(namespace.caller('deploy/client'), address)
    expect(await classesOf(name)).toEqual(['envoy', 'envoy', 'envoy'])
    const areAcme = async (): Promise<true | undefined> =>
      (await classesOf(name)).join() === 'acme,acme,acme' || undefined
    let migrated: unknown
    const { calls, lost } = await underLoad(namespace.caller('deploy/client'), address, async () => {
      migrated = await said('driver', 'migrate', name, '--to', 'acme', '--timeout', '100s')
      // The last of the old pods is on its way out when the new ones are ready.
      await waitUntil('three sidecars of class acme, and no others', areAcme, within(limitMs))
    })
    expect(lost).toEqual([])
    expect(calls).toBeGreaterThan(100)
    expect(migrated).toMatchObject({ plan: { missing: [], obstacles: [] }, result: { outcome: 'migrated' } })
    await works(moving.caller('deploy/client'), address)
  })

  test('that an init container copies to the images as they are serves the same pods', async () => {
    await mesh.helm('upgrade', { values: byInitContainer() })
    await acmeBecomes(isReady)
    const { name, image } = namespace
    await namespace.run(deployment({ name: 'newcomer', namespace: name, image, annotations: ofAcme }))
    await works(namespace.caller('deploy/newcomer'), url)
  })

  test('with another digest than that of the list is refused, and so are pods of its class; others go on', async () => {
    await mesh.helm('upgrade', { values: byInitContainer(`sha512-${Buffer.alloc(64).toString('base64')}`) })
    await acmeBecomes({ state: 'refused' })
    const { name, image } = namespace
    // An account that is there: the API server requests it before it asks the injector.
    const of = { name: 'late', namespace: name, image, account: 'client', annotations: ofAcme }
    const [late] = deployment(of) as readonly [{ readonly spec: { readonly template: { readonly metadata: object } } }]
    const { metadata, ...pod } = late.spec.template
    const input = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name: 'late', namespace: name },
      ...pod,
    })
    const ask = async (): Promise<true | undefined> => {
      const { stderr } = await cluster.kubectl.try(['apply', '--dry-run=server', '-f', '-'], { input })
      return stderr.includes('OSM_DRIVER_INTEGRITY') || undefined
    }
    await waitUntil('the refusal of a pod of the class', ask, within(limitMs))
    await works(namespace.caller('deploy/client'), url)
    await namespace.run(deployment({ name: 'plain', namespace: name, image }))
    await works(namespace.caller('deploy/plain'), url)
  })
})
