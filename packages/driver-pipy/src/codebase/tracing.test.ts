import { describe, expect, it } from '@jest/globals'

import { continueTrace, idOf, readTrace, writeTrace } from '../../codebase/b3.js'
import { BATCH_RECORDS, enqueue, makeQueue, MOST_RECORDS } from '../../codebase/collector.js'
import { spanOf } from '../../codebase/spans.js'

const A = 'a'.repeat(16)
const B = 'b'.repeat(16)
const C = 'c'.repeat(16)

describe('headers of B3', () => {
  const none = { trace: undefined, span: undefined, parent: undefined, sampled: undefined }

  it.each([
    [{}, none],
    [
      { 'x-b3-traceid': A + B, 'x-b3-spanid': C.toUpperCase() },
      { ...none, trace: A + B, span: C },
    ],
    [
      { 'x-b3-traceid': A, 'x-b3-spanid': B, 'x-b3-parentspanid': C, 'x-b3-sampled': '0' },
      { trace: A, span: B, parent: C, sampled: false },
    ],
    [{ 'x-b3-sampled': '1' }, { ...none, sampled: true }],
    [
      { 'x-b3-sampled': '0', 'x-b3-flags': '1' },
      { ...none, sampled: true },
    ],
    [{ b3: '0' }, { ...none, sampled: false }],
    [{ b3: `${A}-${B}` }, { ...none, trace: A, span: B }],
    [{ b3: `${A}-${B}-d-${C}` }, { trace: A, span: B, parent: C, sampled: true }],
    [{ b3: '' }, none],
    // What is no trace is none: neither half a one, nor noughts, nor something else.
    [{ 'x-b3-traceid': A }, none],
    [{ 'x-b3-traceid': '0'.repeat(16), 'x-b3-spanid': B }, none],
    [{ 'x-b3-traceid': `${A}"`, 'x-b3-spanid': B, 'x-b3-sampled': 'maybe' }, none],
    [{ 'x-b3-traceid': [A, B], 'x-b3-spanid': B, 'x-b3-parentspanid': C }, none],
    [{ 'x-b3-traceid': 'g'.repeat(16), 'x-b3-spanid': B }, none],
  ])('%j are read', (headers, expected) => {
    expect(readTrace(headers)).toEqual(expected)
  })

  it('are written in place of what was there', () => {
    const headers = { b3: '1', 'x-b3-parentspanid': C, other: '1' }
    writeTrace(headers, { trace: A, span: B, parent: undefined, sampled: true })
    expect(headers).toEqual({ other: '1', 'x-b3-traceid': A, 'x-b3-spanid': B, 'x-b3-sampled': '1' })
    writeTrace(headers, { trace: A, span: C, parent: B, sampled: false })
    expect(readTrace(headers)).toEqual({ trace: A, span: C, parent: B, sampled: false })
  })

  it('begin a trace, share the span of a caller, and give birth to one on the way out', () => {
    const known = { trace: A, span: B, parent: undefined, sampled: undefined }
    const make = (): string => C
    const yes = (): boolean => true
    const no = (): boolean => false
    expect(continueTrace(none, true, make, yes)).toEqual({
      trace: C,
      span: C,
      parent: undefined,
      sampled: true,
      isShared: false,
    })
    expect(continueTrace(known, true, make, no)).toMatchObject({ trace: A, span: B, sampled: false, isShared: true })
    expect(continueTrace({ ...known, sampled: true }, false, make, no)).toMatchObject({
      trace: A,
      span: C,
      parent: B,
      sampled: true,
      isShared: false,
    })
    expect(idOf('01234567-89ab-4def-8123-456789abcdef')).toBe('0123456789abcdef')
  })
})

describe('a queue towards a collector', () => {
  const noCounts = () => ({ sent: 0, dropped: 0, batches: 0, failures: 0 })

  /** A collector that answers when it is told to. */
  function slow() {
    const asked: { readonly records: readonly unknown[]; readonly answer: (isTaken: boolean) => void }[] = []
    const queue = makeQueue(
      (records: readonly unknown[]) =>
        new Promise<boolean>((resolve) => {
          asked.push({ records, answer: resolve })
        }),
      () => Promise.resolve(),
      noCounts(),
    )
    return { queue, asked }
  }
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 20; i += 1) await Promise.resolve()
  }

  it('sends what has come meanwhile at once, and no more than a collector has taken', async () => {
    const { queue, asked } = slow()
    enqueue(queue, 1)
    enqueue(queue, 2)
    await settle()
    expect(asked.map(({ records }) => records)).toEqual([[1, 2]])
    enqueue(queue, 3)
    await settle()
    expect(asked).toHaveLength(1)
    asked[0]?.answer(true)
    await settle()
    expect(asked.map(({ records }) => records)).toEqual([[1, 2], [3]])
    asked[1]?.answer(true)
    await settle()
    expect(queue).toMatchObject({
      isBusy: false,
      records: [],
      counts: { sent: 3, dropped: 0, batches: 2, failures: 0 },
    })
    enqueue(queue, 4)
    await settle()
    expect(asked).toHaveLength(3)
  })

  it('keeps so many and drops the rest, sends so many at a time, and counts what is lost', async () => {
    const { queue, asked } = slow()
    for (let i = 0; i < MOST_RECORDS + 5; i += 1) enqueue(queue, i)
    expect(queue).toMatchObject({ counts: { dropped: 5 } })
    await settle()
    for (let i = 0; i < MOST_RECORDS / BATCH_RECORDS; i += 1) {
      expect(asked[i]?.records).toHaveLength(BATCH_RECORDS)
      asked[i]?.answer(i !== 0)
      await settle()
    }
    expect(queue).toMatchObject({
      isBusy: false,
      counts: { sent: MOST_RECORDS - BATCH_RECORDS, dropped: 5 + BATCH_RECORDS, batches: 5, failures: 1 },
    })
  })

  it('tries as often as it may, less and less often, before records are lost', async () => {
    const waits: number[] = []
    const answers = [false, true, false, false, false]
    const asked: (readonly unknown[])[] = []
    const queue = makeQueue(
      (records: readonly unknown[]) => {
        asked.push(records)
        return Promise.resolve(answers[asked.length - 1])
      },
      (seconds: number) => {
        waits.push(seconds)
        return Promise.resolve()
      },
      noCounts(),
      3,
    )
    enqueue(queue, 'first')
    await settle()
    expect(queue).toMatchObject({ isBusy: false, counts: { sent: 1, dropped: 0, batches: 1, failures: 0 } })
    enqueue(queue, 'second')
    await settle()
    await settle()
    expect(asked).toEqual([['first'], ['first'], ['second'], ['second'], ['second']])
    expect(waits).toEqual([1, 1, 1, 1, 2])
    expect(queue).toMatchObject({ isBusy: false, counts: { sent: 1, dropped: 1, batches: 2, failures: 1 } })
  })

  it.each([
    ['rejects', () => Promise.reject(new Error('no'))],
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
  ])('goes on after one that %s', async (_, send) => {
    const queue = makeQueue(send, () => Promise.resolve(), noCounts())
    enqueue(queue, 1)
    await settle()
    expect(queue).toMatchObject({ isBusy: false, counts: { sent: 0, dropped: 1, failures: 1 } })
  })
})

describe('a span', () => {
  const entry = {
    direction: 'outbound',
    since: 1_700_000_000_000,
    ended: 1_700_000_000_020,
    received: 1,
    sent: 2,
    cluster: 'shop/store|80',
    address: '10.0.0.2:80',
    conn: { source: '10.0.0.1' },
    head: { status: 200 },
    trace: { trace: A, span: C, parent: B, sampled: true, isShared: false },
    request: {
      method: 'GET',
      scheme: 'http',
      authority: 'store.shop',
      path: '/books',
      fullPath: '/books?secret=1',
      protocol: 'HTTP/1.1',
      headers: { 'user-agent': 'curl', 'x-request-id': ['1', '2'] },
    },
  }

  it('says what was asked and how it went, without the query', () => {
    const span: unknown = spanOf(entry, 'client.shop')
    expect(span).toEqual({
      traceId: A,
      id: C,
      parentId: B,
      kind: 'CLIENT',
      name: 'store.shop',
      timestamp: 1_700_000_000_000_000,
      duration: 20_000,
      localEndpoint: { serviceName: 'client.shop' },
      tags: {
        component: 'proxy',
        'http.method': 'GET',
        'http.url': 'http://store.shop/books',
        'http.protocol': 'HTTP/1.1',
        'http.status_code': '200',
        request_size: '1',
        response_size: '2',
        response_flags: '-',
        'peer.address': '10.0.0.1',
        upstream_cluster: 'shop/store|80',
        upstream_address: '10.0.0.2:80',
        user_agent: 'curl',
      },
    })
    expect(JSON.stringify(span)).not.toContain('secret')
  })

  it('of a server is shared with its caller, and one that failed says so', () => {
    const trace = { ...entry.trace, parent: undefined, isShared: true }
    const span = spanOf({ ...entry, direction: 'inbound', trace, head: undefined, flag: 'DC', ended: entry.since }, 'x')
    expect(span).toMatchObject({
      kind: 'SERVER',
      shared: true,
      duration: 1,
      tags: { error: 'true', response_flags: 'DC' },
    })
    expect(span).not.toHaveProperty('parentId')
    const long = { ...entry, request: { ...entry.request, path: `/${'x'.repeat(1_000)}` } }
    expect((spanOf(long, 'x') as { tags: Record<string, string> }).tags['http.url']).toHaveLength(256)
  })
})
