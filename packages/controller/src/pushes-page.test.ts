import { describe, expect, it } from '@jest/globals'
import { Metrics, PushLog } from '@osm-ts/core'

import { pushesPage } from './pushes-page.js'

function changes() {
  let now = 0
  const log = new PushLog(
    new Metrics(),
    () => Date.UTC(2026, 0, 1),
    () => now,
  )
  const session = log.follow('envoy')
  const cause = { objects: ['Service/shop/store'], endpoints: ['Service/shop/db'], others: ['config'] }
  const running = log.begin(cause, 100)
  running.during(() => {
    session.offered()
  })
  running.end({ parts: 3, changed: 2 })
  now = 12.34
  session.given(1)
  return log.report()
}

const page = (query: Readonly<Record<string, string>>) => pushesPage(changes(), { path: '/debug/pushes', query })

describe('/debug/pushes', () => {
  it('is JSON', () => {
    const { status, contentType, body } = page({})
    expect([status, contentType]).toEqual([200, 'application/json; charset=utf-8'])
    expect(JSON.parse(body)).toMatchObject({ changes: [{ change: 1, parts: 3, queue: { maxMs: 12.34 } }] })
  })

  it('is a table for people', () => {
    const { contentType, body } = page({ format: 'text' })
    expect(contentType).toBe('text/plain; charset=utf-8')
    const [, head = '', row = ''] = body.split('\n')
    const at = (name: string): string => row.slice(head.indexOf(name)).split(' ')[0] ?? ''
    expect(['DEBOUNCE', 'PARTS', 'PROXIES', 'QUEUE', 'LAST', 'PENDING'].map(at)).toEqual([
      '100.0',
      '3',
      '1/2',
      '12.3',
      '-',
      '1',
    ])
    expect(row).toContain('Service/shop/store, endpoints of Service/shop/db, config')
  })

  it('says which forms there are', () => {
    const { status, body } = page({ format: 'xml' })
    expect(status).toBe(400)
    expect(JSON.parse(body)).toEqual({ error: 'format: must be json or text, not "xml"' })
  })
})
