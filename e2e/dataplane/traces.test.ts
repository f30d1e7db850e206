import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { startTestMesh, type TestMesh } from './support/mesh.js'
import { OtelCollector } from './support/otel-collector.js'
import {
  callChain,
  collected,
  expectWholeTrace,
  spansOf,
  traceSizes,
  tracedConfig,
  tracedWorkloads,
  untilWholeTrace,
  WHOLE,
} from './support/traced-chain.js'

const TRACE = 'a1'.repeat(16)
const SPAN = 'b2'.repeat(8)
/** Of half of them, some are kept and some are not: the chance of another outcome is 2⁻³⁹. */
const CALLS = 40
/** Of a share of a half, the chance that this many are kept by it is 2⁻¹⁰. */
const DECIDED = 10

describe('traces of a call through three services, in a real OpenTelemetry Collector', () => {
  let collector: OtelCollector
  let mesh: TestMesh

  beforeAll(async () => {
    collector = await OtelCollector.start()
    mesh = await startTestMesh({
      'config.yaml': [tracedConfig(collector, 'opentelemetry', '1')],
      'workloads.yaml': tracedWorkloads,
    })
  })
  afterAll(async () => {
    await mesh.stop()
    await collector.stop()
  })

  const call = (path: string, headers?: Readonly<Record<string, string>>): Promise<void> =>
    callChain(mesh, path, headers)
  const contextOf = (flags: '00' | '01'): Readonly<Record<string, string>> => ({
    traceparent: `00-${TRACE}-${SPAN}-${flags}`,
  })

  it('are whole: one trace, in which each span is the child of the one before it', async () => {
    await call('/whole')
    const first = await expectWholeTrace(collector, '/whole', { isShared: false })
    expect(first.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(first.attributes).toMatchObject({ 'http.method': 'GET', 'http.status_code': '200' })
  })

  it('continue the trace of the application that calls first', async () => {
    await call('/continued', contextOf('01'))
    const { traceId } = await expectWholeTrace(collector, '/continued', { isShared: false, parent: SPAN })
    expect(traceId).toBe(TRACE)
  })

  it('are cut where an application does not pass on the context', async () => {
    await call('/cut?forget')
    expect(traceSizes(await collected(collector, '/cut', WHOLE))).toEqual([2, 2, 2])
  })

  it('are left out where the caller has decided so', async () => {
    await call('/unwanted', contextOf('00'))
    // What comes later has been sent when these would have been.
    await call('/wanted', contextOf('01'))
    await expectWholeTrace(collector, '/wanted', { isShared: false, parent: SPAN })
    expect(spansOf(collector, '/unwanted')).toEqual([])
  })

  it('are whole or absent where a share of them is kept', async () => {
    await mesh.apply('config.yaml', tracedConfig(collector, 'opentelemetry', '0.5'))
    for (let count = 0; count < CALLS; count += 1) await call('/share')
    const sizes = await eventually(
      () => traceSizes(spansOf(collector, '/share')),
      (found) => found.length > 1 && found.every((size) => size === WHOLE),
      { what: 'whole traces alone' },
    )
    expect(sizes.length).toBeLessThan(CALLS)
    // The decision of a caller counts in place of the share.
    const wanted = Array.from({ length: DECIDED }, (_, index) => `/wanted/${index}`)
    for (const path of wanted) await call(path, contextOf('01'))
    for (const path of wanted) await expectWholeTrace(collector, path, { isShared: false, parent: SPAN })
  })

  it('are kept where the caller has decided for them, and left out otherwise, where the share is 0', async () => {
    await mesh.apply('config.yaml', tracedConfig(collector, 'opentelemetry', '0'))
    // Connections between sidecars from before the change are drained first, with the share that they were opened with.
    const silent = await eventually(
      async () => {
        const path = `/none/${Math.random()}`
        await call(path)
        await call(`${path}/wanted`, contextOf('01'))
        await expectWholeTrace(collector, `${path}/wanted`, { isShared: false, parent: SPAN })
        return spansOf(collector, path)
      },
      ({ length }) => length === 0,
      { everyMs: 500, what: 'a call without spans' },
    )
    expect(silent).toEqual([])
    for (let count = 0; count < DECIDED; count += 1) await call('/nothing')
    await call('/decided', contextOf('01'))
    await expectWholeTrace(collector, '/decided', { isShared: false, parent: SPAN })
    expect(spansOf(collector, '/nothing')).toEqual([])
  })

  it('are whole in the format of Zipkin, too', async () => {
    await mesh.apply('config.yaml', tracedConfig(collector, 'zipkin', '1'))
    const whole = await untilWholeTrace(mesh, collector)
    const { attributes } = await expectWholeTrace(collector, whole ?? '', { isShared: true })
    expect(attributes).toMatchObject({ 'http.method': 'GET' })
  })

  it('are kept by the headers of Zipkin where the caller has decided so, and the share is 0', async () => {
    await mesh.apply('config.yaml', tracedConfig(collector, 'zipkin', '0'))
    const decided = { 'x-b3-traceid': TRACE, 'x-b3-spanid': SPAN, 'x-b3-sampled': '1' }
    const silent = await eventually(
      async () => {
        const path = `/b3/${Math.random()}`
        await call(path)
        await call(`${path}/wanted`, decided)
        await expectWholeTrace(collector, `${path}/wanted`, { isShared: true, parent: SPAN })
        return spansOf(collector, path)
      },
      ({ length }) => length === 0,
      { everyMs: 500, what: 'a call without spans' },
    )
    expect(silent).toEqual([])
  })
})
