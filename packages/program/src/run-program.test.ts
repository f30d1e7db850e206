import { describe, expect, it } from '@jest/globals'
import { OsmError } from '@osm-ts/driver-api'
import type { KubernetesApi, KubernetesManifest, ResourceType } from '@osm-ts/kubernetes'

import { parseFlags } from './parse-flags.js'
import { processFlags } from './program-flags.js'
import { type Program, type ProgramHost, runProgram } from './run-program.js'

const definitions = { ...processFlags, 'osm-namespace': { kind: 'text', default: '', meaning: 'namespace' } } as const
type Flags = ReturnType<typeof parseFlags<typeof definitions>>

/** A process of which a test holds the strings. */
function fakeHost(argv: readonly string[], options: { readonly pod?: string; readonly unreachable?: true } = {}) {
  const lines: Record<string, unknown>[] = []
  const printed: string[] = []
  const exits: number[] = []
  const created: KubernetesManifest[] = []
  const signals = new Set<(name: string) => void>()
  const uncaught = new Set<(error: unknown) => void>()
  const api: Pick<KubernetesApi, 'get' | 'create'> = {
    get: async (_type, { namespace, name }) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace, name, uid: 'uid-1' },
    }),
    create: async (_type: ResourceType, manifest: KubernetesManifest) => {
      created.push(manifest)
      return manifest
    },
  }
  const host: ProgramHost = {
    argv,
    environment: { TEST_POD_NAME: options.pod },
    onSignal: (listener) => {
      signals.add(listener)
      return () => signals.delete(listener)
    },
    onUncaught: (listener) => {
      uncaught.add(listener)
      return () => uncaught.delete(listener)
    },
    print: (text) => printed.push(text),
    log: {
      write: (line) => {
        lines.push(JSON.parse(line) as Record<string, unknown>)
      },
    },
    exit: (code) => exits.push(code),
    connect: async () => {
      if (options.unreachable) throw new OsmError('OSM_KUBERNETES_UNREACHABLE', 'no route')
      return api as KubernetesApi
    },
  }
  return { host, lines, printed, exits, created, signals, uncaught }
}

function program(main: Program<Flags>['main']): Program<Flags> {
  return {
    name: 'osm-test',
    podNameVariable: 'TEST_POD_NAME',
    definitions,
    parse: (argv) => parseFlags(argv, definitions),
    main,
  }
}

describe('runProgram', () => {
  it('exits 0 when the program has done its work, or with the code that it gives', async () => {
    const done = fakeHost([])
    await runProgram(
      program(async () => undefined),
      done.host,
    )
    expect(done.exits).toEqual([0])
    const refused = fakeHost([])
    await runProgram(
      program(async () => 1),
      refused.host,
    )
    expect(refused.exits).toEqual([1])
    expect(refused.lines).toEqual([])
  })

  it('aborts on the first signal and exits at once on the second', async () => {
    const fake = fakeHost([])
    let release = (): void => undefined
    const running = runProgram(
      program(async ({ signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        await new Promise<void>((resolve) => (release = resolve))
        return undefined
      }),
      fake.host,
    )
    const send = (): void => fake.signals.forEach((listener) => listener('SIGTERM'))
    send()
    await new Promise(setImmediate)
    expect(fake.exits).toEqual([])
    send()
    expect(fake.exits).toEqual([1])
    release()
    await running
    expect(fake.signals.size).toBe(0)
    expect(fake.uncaught.size).toBe(0)
  })

  it('takes an abort that it requested itself as a clean end', async () => {
    const fake = fakeHost([])
    const running = runProgram(
      program(
        ({ signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      ),
      fake.host,
    )
    fake.signals.forEach((listener) => listener('SIGINT'))
    await running
    expect(fake.exits).toEqual([0])
  })

  it('logs one line for a failure and leaves an event with the reason of OSM', async () => {
    const fake = fakeHost(['--osm-namespace=osm-system'], { pod: 'osm-test-1' })
    await runProgram(
      program(async () => {
        throw new OsmError('OSM_CERT_STORE_CORRUPT', 'Secret osm-ca-bundle: not PEM')
      }),
      fake.host,
    )
    expect(fake.exits).toEqual([1])
    expect(fake.lines).toEqual([
      expect.objectContaining({
        level: 'error',
        component: 'osm-test',
        code: 'OSM_CERT_STORE_CORRUPT',
        message: 'Secret osm-ca-bundle: not PEM',
      }),
    ])
    expect(fake.created).toEqual([
      expect.objectContaining({
        kind: 'Event',
        type: 'Warning',
        reason: 'FatalInvalidCertificateManager',
        involvedObject: expect.objectContaining({ kind: 'Pod', name: 'osm-test-1', uid: 'uid-1' }),
      }),
    ])
  })

  it('leaves the event for a bad command line too', async () => {
    const fake = fakeHost(['--osm-namespace', 'osm-system', '--verbositty=info'], { pod: 'osm-test-1' })
    await runProgram(
      program(async () => undefined),
      fake.host,
    )
    expect(fake.exits).toEqual([1])
    expect(fake.created).toEqual([
      expect.objectContaining({
        metadata: expect.objectContaining({ namespace: 'osm-system' }),
        reason: 'FatalInvalidCLIParameters',
        message: expect.stringContaining('--verbositty'),
      }),
    ])
  })

  it('ends with 1 where no one has caught an error, even if no event can be left', async () => {
    const fake = fakeHost(['--osm-namespace=osm-system'], { pod: 'osm-test-1', unreachable: true })
    const running = runProgram(
      program(() => new Promise(() => undefined)),
      fake.host,
    )
    fake.uncaught.forEach((listener) => listener(new TypeError('x is not a function')))
    await running
    expect(fake.exits).toEqual([1])
    expect(fake.lines.map(({ code, message }) => [code, message])).toEqual([
      ['OSM_PROGRAM_FAULT', 'x is not a function'],
      [undefined, 'no event was left'],
    ])
  })

  it('prints its flags', async () => {
    const fake = fakeHost(['--help'])
    await runProgram(
      program(async () => undefined),
      fake.host,
    )
    expect(fake.exits).toEqual([0])
    expect(fake.printed.join('')).toMatch(/Usage: osm-test[^]*--verbosity\n[^]*by default info/)
  })
})
