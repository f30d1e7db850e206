import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { Jaeger } from './support/jaeger.js'
import { startTestMesh, type TestMesh } from './support/mesh.js'
import {
  callChain,
  expectWholeTrace,
  spansOf,
  traceSizes,
  tracedConfig,
  tracedWorkloads,
} from './support/traced-chain.js'

/** Spans of a call through all services. */
const WHOLE = 6

describe('traces of a call through three services, in a real Jaeger', () => {
  let jaeger: Jaeger
  let mesh: TestMesh

  beforeAll(async () => {
    jaeger = await Jaeger.start('client.shop')
    mesh = await startTestMesh({
      'config.yaml': [tracedConfig(jaeger, 'opentelemetry', '1')],
      'workloads.yaml': tracedWorkloads,
    })
  })
  afterAll(async () => {
    await mesh.stop()
    await jaeger.stop()
  })

  it('are shown whole, with the services of the mesh', async () => {
    await callChain(mesh, '/jaeger')
    const first = await expectWholeTrace(jaeger, '/jaeger', { isShared: false })
    expect(first.attributes).toMatchObject({ 'http.method': 'GET', 'http.status_code': '200' })
  })

  it('are shown whole by the format of Zipkin, which the chart uses by default', async () => {
    await mesh.apply('config.yaml', tracedConfig(jaeger, 'zipkin', '1'))
    const paths: string[] = []
    // Connections between sidecars from before the change are drained first, and their traces are cut.
    const whole = await eventually(
      async () => {
        paths.push(`/zipkin/${paths.length}`)
        await callChain(mesh, paths.at(-1) ?? '')
        await jaeger.refresh()
        return paths.find((path) => traceSizes(spansOf(jaeger, path)).join(' ') === `${WHOLE}`)
      },
      (path) => path !== undefined,
      { everyMs: 500, what: 'a whole trace' },
    )
    // Jaeger gives both sides of a hop a span ID of their own.
    await expectWholeTrace(jaeger, whole ?? '', { isShared: false })
  })
})
