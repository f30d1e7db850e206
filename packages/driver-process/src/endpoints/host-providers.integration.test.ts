import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Logger } from '@osm-ts/driver-api'
import { eventually, Listeners } from '@osm-ts/driver-api/toolkit'

import { bundleHostProgram } from '../../test/host-program.js'
import { packageIntegrity } from '../load/package-integrity.js'
import { hostProviders } from './host-providers.js'
import { listedProviders, type ProviderEntry } from './provider-list.js'
import type { ProviderLimits, ResourceSource } from './provider-process.js'

const toy = join(import.meta.dirname, '../../test/packages/endpoints')

describe('hostProviders', () => {
  let program: string
  beforeAll(async () => {
    program = await bundleHostProgram()
  })
  afterAll(() => rm(dirname(program), { recursive: true }))

  /** Runs providers until the signal aborts, and keeps what they say. */
  function host(entries: readonly ProviderEntry[], limits: Partial<ProviderLimits> = {}) {
    const end = new AbortController()
    const changes = new Listeners()
    let present: ReturnType<ResourceSource['list']> = []
    const said: string[] = []
    const note = (word: string, value: unknown): void => void said.push(`${word} ${JSON.stringify(value)}`)
    const logger: Logger = {
      debug: () => undefined,
      info: (fields, message) => note(`log ${message}`, fields),
      warn: () => undefined,
      error: () => undefined,
    }
    const stopped = hostProviders({
      entries,
      programFolder: dirname(program),
      environment: { ...process.env, TOY_VARIABLE: 'given', OTHER_VARIABLE: 'kept' },
      sink: () => ({
        publish: (answer) => note('published', answer),
        fail: (reason) => note('failed', reason),
        ended: (reason) => note('failed', reason),
        recover: () => note('recovered', null),
        countCall: (operation, outcome) => note('called', [operation, outcome]),
        reportStatus: ({ name }, status) => note('status', [name, status?.instances ?? null]),
      }),
      checkSettings: (_schema, settings) => ('wrong' in settings ? ['settings.wrong is not known'] : []),
      resources: async (provider, kinds) => {
        note('kinds', [provider, kinds.map(({ kind }) => kind)])
        return { list: () => present, subscribe: (listener) => changes.add(listener) }
      },
      retry: { firstMs: 50, lastMs: 100 },
      limits,
      logger,
      signal: end.signal,
    })
    const heard = (word: string, times = 1) =>
      eventually(
        () => said.filter((line) => line.includes(word)).length,
        (count) => count >= times,
        { what: word },
      )
    return {
      said,
      heard,
      put: (names: readonly string[]) => {
        present = names.map((name) => ({
          kind: 'Toy',
          namespace: 'shop',
          name,
          labels: {},
          generation: 1,
          spec: { address: '10.0.0.9' },
        }))
        changes.notify()
      },
      stop: async () => {
        end.abort()
        await stopped
      },
    }
  }

  async function entry(settings: ProviderEntry['settings'], name = 'toy'): Promise<ProviderEntry> {
    const integrity = await packageIntegrity(toy)
    const text = JSON.stringify({ providers: [{ name, path: toy, integrity, settings, variables: ['TOY_VARIABLE'] }] })
    const [only] = await listedProviders(text, {})
    if (only === undefined) throw new Error('the list is empty')
    return only
  }

  it('runs a package in a process of its own and passes on what it publishes, reports and counts', async () => {
    const { said, heard, stop } = host([await entry({ does: 'publish' })])
    await heard('failed "throttled"')
    await stop()
    expect(said.filter((line) => !/^(kinds|log an endpoints provider runs)/.test(line))).toEqual([
      'published {"services":[{"service":{"namespace":"shop","name":"store"},"instances":[{"id":"a","addresses":["10.0.0.1"],"ready":true}]}]}',
      'called ["machines/list","ok"]',
      'status ["toy",1]',
      'log published {"secretless":"given","provider":"toy"}',
      'failed "throttled"',
    ])
  })

  it('gives a provider the objects of its kinds, and passes on what it says of each', async () => {
    const { heard, put, stop } = host([await entry({ does: 'follow' })])
    await heard('kinds ["toy",["Toy"]]')
    await heard('published {"services":[]}')
    put(['one', 'two'])
    await heard('"id":"two"')
    await heard('status ["two",1]')
    put(['two'])
    await heard('status ["one",null]')
    await stop()
  })

  it('starts a provider that throws, exits, hangs or publishes nonsense again, and says why', async () => {
    for (const [does, reason] of [
      ['throw', 'the cloud is closed'],
      ['exit', 'ended with exit code 7'],
      ['hang', 'it has not answered for 1 s'],
    ] as const) {
      const { heard, stop } = host([await entry({ does })], { pingMs: 100, silenceMs: 1_000 })
      await heard(reason, 2)
      await stop()
    }
    const { heard, stop } = host([await entry({ does: 'nonsense' })])
    await heard('the answer is not plain data')
    await stop()
  })

  it('survives messages that no provider sends, says so, and starts the provider again', async () => {
    const { heard, stop } = host([await entry({ does: 'malformed' })])
    await heard('sent an invalid message', 2)
    await stop()
  })

  it('refuses a package with another digest or name, and settings that do not conform', async () => {
    const good = await entry({})
    const other = `sha512-${Buffer.alloc(64).toString('base64')}`
    for (const [refused, reason] of [
      [{ ...good, package: { path: toy, integrity: other } }, 'has the digest sha512-'],
      [{ ...good, name: 'azure' }, 'the package is of provider toy'],
      [{ ...good, settings: { wrong: true } }, 'settings.wrong is not known'],
    ] as const) {
      const { heard, stop } = host([refused])
      await heard(reason)
      await stop()
    }
  })

  it('follows a file that is replaced, broken and removed, and keeps what it read last', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'osm-file-provider-'))
    const path = join(folder, 'instances.yaml')
    const write = async (text: string) => {
      await writeFile(`${path}.new`, text)
      await rename(`${path}.new`, path)
    }
    const [file] = await listedProviders(JSON.stringify({ providers: [{ name: 'file', settings: { path } }] }), {})
    if (file === undefined) throw new Error('the list is empty')
    const { heard, stop } = host([file])
    await heard('failed "')
    const text = (address: string) =>
      `services: [{ service: { namespace: shop, name: store }, instances: [{ addresses: [${address}] }] }]`
    await write(text('10.0.0.1'))
    await heard('"instances":[{"id":"10.0.0.1","ready":true,"addresses":["10.0.0.1"]}]')
    await write(text('10.0.0.2'))
    await heard('"addresses":["10.0.0.2"]')
    await write('services: 5')
    await heard('must have a list of services')
    await write(text('10.0.0.3'))
    await heard('"addresses":["10.0.0.3"]')
    await rm(path)
    await heard('ENOENT')
    await stop()
    await rm(folder, { recursive: true })
  })
})
