import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { type ControllerContext, type Driver, OsmError } from '@osm-ts/driver-api'
import { type PartHash, type PolicyUpdate, type ProxyPolicy, refOf } from '@osm-ts/driver-api/policy'
import { childEndpoint, RemoteDriver } from '@osm-ts/driver-process'
import { FakeHost, injectorContext } from '@osm-ts/driver-testkit'

import { bundleModule } from '../../../tools/lib/bundle.mjs'
import { XdsClient } from '../test/xds/xds-client.js'
import { createEnvoyDriver } from './driver.js'
import { typeUrls } from './server/xds-types.js'

const testdata = join(import.meta.dirname, 'testdata/in')
const end = new AbortController()
const ended: (() => Promise<void> | void)[] = []
let folder: string
let remote: RemoteDriver

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-envoy-'))
  const [program, driver] = [join(folder, 'osm-driver-host.mjs'), join(folder, 'driver')]
  await mkdir(driver)
  await bundleModule('packages/driver-process/src/driver-host-main.ts', program)
  await bundleModule('packages/driver-envoy/src/index.ts', join(driver, 'envoy.mjs'))
  await writeFile(join(driver, 'package.json'), '{ "name": "envoy", "version": "1.0.0", "main": "index.mjs" }')
  await writeFile(join(driver, 'index.mjs'), "export { createEnvoyDriver as default } from './envoy.mjs'")
  const silent = () => {}
  remote = await RemoteDriver.connect({
    name: 'envoy',
    open: childEndpoint({
      name: 'envoy',
      program,
      folder: driver,
      environment: {},
      heapMb: 256,
      residentMb: 800,
      residentIntervalMs: 1000,
    }),
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    random: Math.random,
    signal: end.signal,
  })
})
afterEach(async () => {
  for (const close of ended.splice(0)) await close()
})
afterAll(async () => {
  end.abort()
  await remote.stopped
  await rm(folder, { recursive: true })
})

/** What a proxy of that policy is sent when it connects, type by type, as it is on the wire. */
async function served(driver: Driver, policy: ProxyPolicy): Promise<Record<string, unknown>> {
  const host = new FakeHost('envoy')
  const { commonName, credential } = host.admit(policy.proxy.id, policy.proxy.identity)
  expect(commonName).toContain(policy.proxy.id)
  await driver.start(host.context({ meshCatalog: catalogOf(policy) }))
  const listens = () => host.logs.find(({ message }) => message === 'xDS server listens')
  while (listens() === undefined) await new Promise((turn) => setImmediate(turn))
  const port = Number(listens()?.fields['port'])
  const client = new XdsClient({ port, roots: host.controlPlane.certificate, credential })
  ended.push(
    () => client.close(),
    () => host.stop(),
  )
  const stream = client.delta()
  const answers: Record<string, unknown> = {}
  for (const type of ['cluster', 'listener'] as const) {
    stream.send({ typeUrl: typeUrls[type] })
    const response = await stream.next()
    stream.send({ typeUrl: typeUrls[type], responseNonce: response.nonce })
    answers[response.typeUrl] = response.resources.map(({ name, version, resource }) => [
      name,
      version,
      Buffer.from(resource?.value ?? []).toString('base64'),
    ])
  }
  return answers
}

function catalogOf({ proxy, version, parts }: ProxyPolicy): ControllerContext['meshCatalog'] {
  // Keys of a document's parts are hashes.
  const added = Object.entries(parts).map(([hash, part]) => refOf(part, hash as PartHash))
  return {
    policies: {
      async *watch(_proxy, signal): AsyncIterable<PolicyUpdate> {
        yield { revision: 1, version, proxy, added, removed: [] }
        if (!signal.aborted) await new Promise((aborted) => signal.addEventListener('abort', aborted))
      },
    },
    parts: {
      get: async (hash) => {
        const part = parts[hash]
        if (part === undefined) throw new OsmError('OSM_PART_UNKNOWN', `there is no part ${hash}`)
        return part
      },
    },
  }
}

describe('the driver in its own process', () => {
  it('says of itself what it says in ours', () => {
    const { name, contract, capabilities, configSchema } = createEnvoyDriver()
    const { name: itsName, contract: its, capabilities: can, configSchema: schema } = remote
    expect({ itsName, its, can, schema }).toEqual({
      itsName: name,
      its: contract,
      can: capabilities,
      schema: configSchema,
    })
  })

  it.each([
    {},
    { driverConfig: { xds: 'sotw', concurrency: 4 } },
    {
      interceptionMode: 'none',
      listen: { outboundHttp: { address: '127.0.0.1', port: 15201 }, admin: { address: '127.0.0.1', port: 15200 } },
    },
  ] as const)('gives the same patch, byte for byte: %j', async (changes) => {
    const context = injectorContext(changes)
    const [here, there] = await Promise.all([createEnvoyDriver().patch(context), remote.patch(context)])
    expect(JSON.stringify(there)).toBe(JSON.stringify(here))
  })

  it('refuses with the same error', async () => {
    const context = injectorContext({ podOS: 'darwin' })
    const { code, message } = await createEnvoyDriver()
      .patch(context)
      .then(fail, (error: unknown) => error as OsmError)
    await expect(remote.patch(context)).rejects.toMatchObject({ code, message })
  })

  it.each(['smi-http-split.json', 'tcp.json'])('sends proxies the same bytes: %s', async (file) => {
    const policy = JSON.parse(await readFile(join(testdata, file), 'utf8')) as ProxyPolicy
    const here = await served(createEnvoyDriver(), policy)
    const there = await served(remote, policy)
    expect(Object.values(here).flat().length).toBeGreaterThan(3)
    expect(there).toEqual(here)
  })
})

function fail(): never {
  throw new Error('it was not refused')
}
