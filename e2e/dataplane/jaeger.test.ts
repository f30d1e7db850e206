import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { Jaeger } from './support/jaeger.js'
import { startTestMesh, type TestMesh } from './support/mesh.js'
import { callChain, expectWholeTrace, tracedConfig, tracedWorkloads, untilWholeTrace } from './support/traced-chain.js'

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
    const whole = await untilWholeTrace(mesh, jaeger)
    // Jaeger gives both sides of a hop a span ID of their own.
    await expectWholeTrace(jaeger, whole ?? '', { isShared: false })
  })
})
