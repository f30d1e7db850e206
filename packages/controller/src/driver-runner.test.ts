import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DriverRegistry, driverStates, resolveMeshConfig } from '@osm-ts/core'
import type { ControllerContext, Driver } from '@osm-ts/driver-api'
import { fakeDriver } from '@osm-ts/driver-testkit'
import { until, untilAborted } from '@osm-ts/driver-api/toolkit'

import { DriverRunner } from './driver-runner.js'

const loaded = { origin: 'package', version: '1.0.0', failurePolicy: 'Fail' } as const
const times = { startTimeoutMs: 30, retry: { firstMs: 5, lastMs: 20 } }

/** A start that decides when the driver stops. */
interface Started {
  readonly stopped: Promise<void>
}

describe('DriverRunner', () => {
  let end: AbortController
  beforeEach(() => {
    end = new AbortController()
    logs.length = 0
  })
  afterEach(() => end.abort())

  const logs: string[] = []
  const log = (_fields: object, message: string) => void logs.push(message)
  const logger = { debug: log, info: log, warn: log, error: log, child: () => logger } as never

  /** A driver that starts as it is told, once for each time it is started; the last one holds. */
  function driver(
    name: string,
    ...starts: (() => Promise<Started | undefined>)[]
  ): Driver & { readonly contexts: ControllerContext[] } {
    const contexts: ControllerContext[] = []
    const start = async (context: ControllerContext) => {
      contexts.push(context)
      const started = await starts[Math.min(contexts.length, starts.length) - 1]?.()
      return { probes: {}, stopped: started?.stopped ?? untilAborted(context.signal) }
    }
    return { ...fakeDriver(name), start, contexts }
  }

  function runnerOf(registry: DriverRegistry, defaultClass: string, ...others: readonly string[]) {
    const { config } = resolveMeshConfig(
      { sidecar: { sidecarClass: defaultClass, sidecarDrivers: others.map((sidecarName) => ({ sidecarName })) } },
      { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} },
      { object: undefined, locate: () => undefined },
    )
    const runner = new DriverRunner({
      registry,
      host: { contextFor: (_driver, { signal, onCancel }) => ({ signal, cancel: onCancel }) as never },
      configurator: { current: () => config },
      proxyServer: { address: '127.0.0.1', port: () => 0 },
      logger,
      signal: end.signal,
      times,
    })
    const states = () =>
      Object.fromEntries(
        driverStates({ registry, runner }).map(({ name, state, reason }) => [name, reason?.code ?? state]),
      )
    return { runner, states }
  }

  const fails = () => Promise.reject(new Error('no port'))
  const works = () => Promise.resolve(undefined)
  const hangs = () => new Promise<undefined>(() => undefined)
  it('starts classes side by side: one that hangs or throws holds up no other, and what failed is started again', async () => {
    const registry = new DriverRegistry()
    const throwing = driver('throws', fails, fails, works)
    const hanging = driver('hangs', hangs)
    registry.register(driver('main'))
    for (const other of [hanging, throwing, driver('quick')]) registry.register(other, loaded)
    const seen = new Set<string | undefined>()
    const { runner, states } = runnerOf(registry, 'main', 'hangs', 'throws', 'quick', 'nowhere')
    registry.subscribe(() => seen.add(states().throws))
    await runner.start()
    expect(states()).toMatchObject({ main: 'ready', hangs: 'starting', quick: 'ready' })
    await expect(Promise.all([runner.ready(), runner.alive()])).resolves.toEqual([true, true])
    await until(() => states().throws === 'ready')
    expect([throwing.contexts.length, hanging.contexts.length]).toEqual([3, 1])
    // Anyone who tells users of it hears of both.
    await until(() => seen.has('OSM_DRIVER_START') && seen.has('ready'))
    // What a start that failed has opened does not stand in the way of the next one.
    expect(throwing.contexts.map(({ signal }) => signal.aborted)).toEqual([true, true, false])
    expect(logs.filter((line) => line.includes('no driver'))).toHaveLength(1)
    expect(logs.filter((line) => line.includes('did not start'))).toHaveLength(1)
    expect(runner.classes()).toEqual(['main', 'quick', 'throws'])
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('lost its port')), 'driver main ended by itself: lost its port'],
    ['resolves', () => Promise.resolve(), 'driver main ended by itself'],
  ])('starts a driver again whose stopped %s although its signal has not aborted', async (_how, stops, message) => {
    const registry = new DriverRegistry()
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const main = driver('main', async () => ({ stopped: ended.then(stops) }), works)
    registry.register(main, loaded)
    const seen: unknown[] = []
    const { runner, states } = runnerOf(registry, 'main')
    registry.subscribe(() => seen.push(driverStates({ registry, runner })[0]?.reason))
    await runner.start()
    await expect(runner.ready()).resolves.toBe(true)
    end()
    await until(() => main.contexts.length === 2 && states().main === 'ready')
    expect(seen).toContainEqual({ code: 'OSM_DRIVER_STOPPED', message })
    expect(main.contexts.map(({ signal }) => signal.aborted)).toEqual([true, false])
    expect(logs.filter((line) => line.includes('ended by itself'))).toHaveLength(1)
  })

  it('starts a class whose driver comes later, and is unready meanwhile if it is the default', async () => {
    const registry = new DriverRegistry()
    const refusal = { name: 'late', ...loaded, code: 'OSM_DRIVER_TIMEOUT', message: 'hangs', final: false } as const
    registry.refuse(refusal)
    registry.register(driver('other'))
    const { runner, states } = runnerOf(registry, 'late', 'other')
    await runner.start()
    expect(states()).toEqual({ late: 'OSM_DRIVER_TIMEOUT', other: 'ready' })
    await expect(Promise.all([runner.ready(), runner.alive()])).resolves.toEqual([false, true])
    const late = driver('late')
    registry.register(late, loaded)
    await until(() => states().late === 'ready')
    await expect(runner.ready()).resolves.toBe(true)
    late.contexts[0]?.cancel(new Error('lost its socket'))
    expect(driverStates({ registry, runner })[0]).toMatchObject({
      state: 'ended',
      reason: { message: 'lost its socket' },
    })
    await expect(Promise.all([runner.ready(), runner.alive()])).resolves.toEqual([false, false])
  })

  it('gives up where the default class has no driver, or a built-in one does not start', async () => {
    const registry = new DriverRegistry()
    registry.register(driver('main', fails))
    await expect(runnerOf(registry, 'main').runner.start()).rejects.toMatchObject({ code: 'OSM_DRIVER_START' })
    await expect(runnerOf(registry, 'unknown').runner.start()).rejects.toMatchObject({ code: 'OSM_DRIVER_UNKNOWN' })
    // A package that is refused for good keeps the controller unready, and alive to the other classes.
    registry.refuse({ name: 'forged', ...loaded, code: 'OSM_DRIVER_INTEGRITY', message: 'differs', final: true })
    const { runner, states } = runnerOf(registry, 'forged')
    await runner.start()
    await expect(runner.ready()).resolves.toBe(false)
    expect(states().forged).toBe('OSM_DRIVER_INTEGRITY')
  })
})
