import { describe, expect, it } from '@jest/globals'
import {
  type DriverProcessState,
  type DriverState,
  DriverRegistry,
  driverStates,
  resolveMeshConfig,
} from '@osm-ts/core'
import { fakeDriver } from '@osm-ts/driver-testkit'

import { driverProblems } from './driver-problems.js'
import type { StartState } from './driver-runner.js'

const { config } = resolveMeshConfig(
  { sidecar: { sidecarClass: 'main', sidecarDrivers: [{ sidecarName: 'other' }] } },
  { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} },
  { object: undefined, locate: () => undefined },
)
const loaded = { origin: 'package', version: '1.0.0', failurePolicy: 'Fail' } as const
const other = 'spec.sidecar.sidecarDrivers[0].sidecarName'

function statesOf(process: DriverProcessState, start: StartState | undefined): readonly DriverState[] {
  const registry = new DriverRegistry()
  for (const name of ['main', 'unasked']) registry.register(fakeDriver(name))
  registry.register(fakeDriver('other'), { ...loaded, process: () => process })
  const startOf = (name: string): StartState | undefined => (name === 'other' ? start : { state: 'started' })
  return driverStates({ registry, runner: { stateOf: startOf } })
}

describe('driverProblems', () => {
  const runs = { state: 'running', restarts: 0 } as const
  const failure = { code: 'OSM_DRIVER_MEMORY', message: 'it took 2 GB' }

  it('finds nothing wrong with drivers that run, start, or are not requested', () => {
    for (const state of ['started', 'starting'] as const)
      expect(driverProblems(config, statesOf(runs, { state }))).toEqual([])
    expect(driverProblems(config, statesOf(runs, undefined))).toEqual([])
  })

  it.each<[string, DriverProcessState, StartState, string, string]>([
    [
      'an open circuit',
      { state: 'restarting', restarts: 1, lastFailure: failure },
      { state: 'started' },
      'OSM_DRIVER_MEMORY',
      'the driver of class other has failed, and is started again: it took 2 GB',
    ],
    [
      'an open circuit that has no reason',
      { state: 'restarting', restarts: 1 },
      { state: 'started' },
      'OSM_DRIVER_UNAVAILABLE',
      'the driver of class other has failed, and is started again: its process does not run',
    ],
    [
      'a start that failed',
      runs,
      { state: 'failed', code: 'OSM_DRIVER_START', message: 'no port' },
      'OSM_DRIVER_START',
      'the driver of class other does not start, and is tried again: no port',
    ],
    [
      'a driver that ended',
      runs,
      { state: 'ended', code: 'OSM_DRIVER_START', message: 'lost its socket' },
      'OSM_DRIVER_START',
      'the driver of class other has ended itself: lost its socket',
    ],
  ])('names %s at the field of its class', (_what, process, start, code, message) => {
    expect(driverProblems(config, statesOf(process, start))).toEqual([
      { code, severity: 'error', message, field: other },
    ])
  })

  it('tells what is refused from what may still come, unless another driver serves the class', () => {
    const registry = new DriverRegistry()
    const refuse = (name: string, final: boolean) => registry.refuse({ ...loaded, ...failure, name, final })
    refuse('main', true)
    refuse('other', false)
    const problems = () =>
      driverProblems(config, driverStates({ registry, runner: { stateOf: () => ({ state: 'started' }) } }))
    expect(problems().map(({ message, field }) => [message, field])).toEqual([
      ['the driver of class main is refused: it took 2 GB', 'spec.sidecar.sidecarClass'],
      ['the driver of class other is not there yet: it took 2 GB', other],
    ])
    registry.register(fakeDriver('main'))
    registry.register(fakeDriver('other'))
    refuse('other', true)
    expect(problems()).toEqual([])
  })

  it('names images that are older than the driver of their class declares, whichever class', () => {
    const registry = new DriverRegistry()
    registry.register(fakeDriver('main', { oldestProxyVersion: '1.37' }))
    registry.register(fakeDriver('other', { oldestProxyVersion: '2.3' }), loaded)
    const states = driverStates({ registry, runner: { stateOf: () => ({ state: 'started' }) } })
    const problemsOf = (top: string, entry: string) => {
      const sidecar = {
        sidecarClass: 'main',
        sidecarImage: top,
        sidecarDrivers: [{ sidecarName: 'other', sidecarImage: entry }],
      }
      const { config: written } = resolveMeshConfig(
        { sidecar },
        { osmNamespace: 'osm-system', clusterDomain: 'cluster.local', environment: {} },
        { object: undefined, locate: () => undefined },
      )
      return driverProblems(written, states).map(({ code, field }) => [code, field])
    }
    expect(problemsOf('envoy:v1.37.1', 'acme:2.3')).toEqual([])
    expect(problemsOf('envoy:v1.22.2', 'acme:2.2.9')).toEqual([
      ['OSM_CONTROLLER_IMAGE', 'spec.sidecar.sidecarImage'],
      ['OSM_CONTROLLER_IMAGE', 'spec.sidecar.sidecarDrivers[0].sidecarImage'],
    ])
  })
})
