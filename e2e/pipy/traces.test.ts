import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { startTestMesh, type TestMesh } from '../dataplane/support/mesh.js'
import { OtelCollector } from '../dataplane/support/otel-collector.js'
import {
  callChain,
  expectWholeTrace,
  spansOf,
  tracedConfig,
  tracedWorkloads,
} from '../dataplane/support/traced-chain.js'

describe('traces of a call through three services of class pipy, in a real OpenTelemetry Collector', () => {
  let collector: OtelCollector
  let mesh: TestMesh

  beforeAll(async () => {
    collector = await OtelCollector.start()
    const files = { 'config.yaml': [tracedConfig(collector, 'zipkin', '1')], 'workloads.yaml': tracedWorkloads }
    mesh = await startTestMesh(files, { sidecarClass: 'pipy' })
  })
  afterAll(async () => {
    await mesh.stop()
    await collector.stop()
  })

  const call = (path: string, headers?: Readonly<Record<string, string>>): Promise<void> =>
    callChain(mesh, path, headers)

  it('are whole: one trace, in which both sides of a call have one span', async () => {
    await call('/whole')
    const { attributes } = await expectWholeTrace(collector, '/whole', { isShared: true })
    expect(attributes['http.url']).toBe('http://a.shop:8080/whole')
  })

  it('are left out where the caller does not want them', async () => {
    await call('/unwanted', { b3: `${'a1'.repeat(16)}-${'b2'.repeat(8)}-0` })
    await call('/after')
    await expectWholeTrace(collector, '/after', { isShared: true })
    expect(spansOf(collector, '/unwanted')).toEqual([])
  })
})
