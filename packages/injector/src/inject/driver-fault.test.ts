import { describe, expect, it } from '@jest/globals'
import type { DriverRegistry } from '@osm-ts/core'
import { type Driver, OsmError } from '@osm-ts/driver-api'
import { createEnvoyDriver } from '@osm-ts/driver-envoy'

import { annotated, namespaceOf, portsOf, requestOf, settingsOf } from '../../test/fixture.js'
import type { JsonObject } from '../json/json.js'
import { injectPod } from './inject-pod.js'
import type { InjectionSettings } from './settings.js'

describe('injectPod with a driver that does not do its part', () => {
  const inject = async (pod: JsonObject, settings: InjectionSettings) =>
    injectPod(requestOf(pod, namespaceOf()), settings, await portsOf())

  const facts = (failurePolicy: 'Fail' | 'Ignore') => ({ origin: 'package', version: '1.0.0', failurePolicy }) as const
  const sidecarDrivers = [{ sidecarName: 'loaded', sidecarImage: 'i:1', initContainerImage: 'i:1' }]
  const pod = annotated({ 'openservicemesh.io/sidecar-class': 'loaded' })
  const settled = (fill: (registry: DriverRegistry) => void) => {
    const settings = settingsOf({ sidecar: { sidecarDrivers } })
    fill(settings.registry)
    return settings
  }
  const failing = (code: string): Driver => ({
    ...createEnvoyDriver(),
    name: 'loaded',
    patch: () => Promise.reject(new OsmError(code, 'driver loaded said so')),
  })
  const outcome = async (settings: InjectionSettings) => {
    const result = await inject(pod, settings)
    return result.outcome === 'refused' ? result.error.code : result.outcome === 'skipped' ? result.reason : 'injected'
  }

  it.each([
    ['OSM_DRIVER_TIMEOUT', 'driver-fault'],
    ['OSM_DRIVER_UNAVAILABLE', 'driver-fault'],
    ['OSM_DRIVER_PROTOCOL', 'driver-fault'],
    // What a driver says of a pod holds, whatever becomes of pods when it fails.
    ['OSM_DRIVER_PATCH', 'OSM_DRIVER_PATCH'],
    ['OSM_ACME_UNFIT', 'OSM_ACME_UNFIT'],
  ])('that answers with %s refuses the pod, and by failurePolicy Ignore makes it %s', async (code, ignored) => {
    await expect(outcome(settled((it) => it.register(failing(code), facts('Fail'))))).resolves.toBe(code)
    await expect(outcome(settled((it) => it.register(failing(code), facts('Ignore'))))).resolves.toBe(ignored)
  })

  it('that is not there yet counts as one that fails, and one that is refused for good does not', async () => {
    const refusal = (final: boolean) =>
      ({ ...facts('Ignore'), name: 'loaded', code: 'OSM_DRIVER_TIMEOUT', message: 'it hangs', final }) as const
    await expect(outcome(settled((it) => it.refuse({ ...refusal(false), failurePolicy: 'Fail' })))).resolves.toBe(
      'OSM_DRIVER_TIMEOUT',
    )
    await expect(
      inject(
        pod,
        settled((it) => it.refuse(refusal(false))),
      ),
    ).resolves.toMatchObject({
      outcome: 'skipped',
      warns: true,
      message: expect.stringContaining('it hangs [OSM_DRIVER_TIMEOUT]') as unknown,
    })
    await expect(
      inject(
        pod,
        settled((it) => it.refuse(refusal(true))),
      ),
    ).resolves.toMatchObject({
      outcome: 'refused',
      error: { code: 'OSM_INJECT_CLASS', message: expect.stringContaining('it hangs [OSM_DRIVER_TIMEOUT]') as unknown },
    })
  })
})
