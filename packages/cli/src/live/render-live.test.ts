import { existsSync, readFileSync, writeFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'

import { proxyStatus, sampleView } from '../../test/sample-view.js'
import { renderLines, renderLive } from './render-live.js'

const golden = new URL('../../testdata/out/', import.meta.url)

function compare(name: string, lines: readonly string[]): void {
  const file = new URL(name, golden)
  const text = `${lines.join('\n')}\n`
  if (process.env['UPDATE_GOLDEN'] === '1' || !existsSync(file)) writeFileSync(file, text)
  expect(text).toBe(readFileSync(file, 'utf8'))
}

// eslint-disable-next-line no-control-regex -- escape sequences are what is looked for
const colors = /\u001B\[[0-9;]*m/g

describe('renderLive', () => {
  it('draws traffic, splits, proxies and problems', () => {
    compare('live.txt', renderLive(sampleView(), { columns: 120, color: false }))
  })

  it('draws a mesh that has just started', () => {
    const view = {
      ...sampleView(),
      traffic: [],
      splits: [],
      proxies: [],
      problems: [],
      notices: [],
      controllerUrl: undefined,
    }
    compare('live-empty.txt', renderLive(view, { columns: 100, color: false }))
  })

  it('names services with endpoints that have no sidecar, and what becomes of their traffic', () => {
    const view = sampleView()
    const services = Array.from({ length: 6 }, (_, index) => ({
      code: 'OSM_POLICY_WITHOUT_SIDECAR',
      severity: 'warning' as const,
      message: '1 of 2 endpoints have no sidecar (10.0.0.3); the mesh speaks plaintext to them',
      object: { kind: 'Service' as const, namespace: 'shop', name: `store-${index}` },
    }))
    const lines = renderLive({ ...view, problems: services }, { columns: 120, color: false })
    const at = lines.findIndex((line) => line.startsWith('WITHOUT SIDECAR'))
    expect(lines.slice(at, at + 2)).toEqual([
      expect.stringContaining('endpoints of 6 services'),
      expect.stringMatching(/^ {2}Service shop\/store-0: 1 of 2 endpoints have no sidecar \(10.0.0.3\)/),
    ])
    expect(lines.filter((line) => line.startsWith('  Service shop/store-'))).toHaveLength(4)
  })

  it('tells the identity of a machine that has joined, whose sidecar cannot be asked from here', () => {
    const view = sampleView()
    const names = ['shop/rack-7', 'shop/rack-8']
    const proxies = [
      proxyStatus('rack-7', 'shop', 'store'),
      proxyStatus('rack-8', 'shop', 'store', { state: 'stale', connected: false }),
    ]
    const text = renderLive({ ...view, proxies, elsewhere: new Set(names) }, { columns: 120, color: false }).join('\n')
    expect(text).toMatch(/rack-7 +store\.shop, on its own machine/)
    expect(text).toMatch(/rack-8 +on its own machine, not connected/)
    expect(text).not.toContain('no certificate seen yet')
  })

  it('never draws wider than 100 columns, nor than the terminal', () => {
    for (const columns of [80, 100, 200]) {
      const widths = renderLive(sampleView(), { columns, color: false }).map((line) => Array.from(line).length)
      expect(Math.max(...widths)).toBeLessThanOrEqual(Math.min(columns, 100))
    }
  })

  it('says the same with colours as without', () => {
    const plain = renderLive(sampleView(), { columns: 100, color: false })
    const colored = renderLive(sampleView(), { columns: 100, color: true })
    expect(colored.join('\n')).toMatch(colors)
    expect(colored.map((line) => line.replace(colors, '').trimEnd())).toEqual(plain)
  })

  it('shows no control character that a workload printed', () => {
    const view = sampleView()
    const [row] = view.traffic
    const hostile = { ...row!, path: '/\u001B]0;owned\u0007\u202Ex', last: { ...row!.last, path: '/' } }
    const text = renderLive({ ...view, traffic: [hostile] }, { columns: 100, color: false }).join('\n')
    expect(text).toContain('/·]0;owned··x')
    for (const character of ['\u001B', '\u0007', '\u202E']) expect(text).not.toContain(character)
  })
})

describe('renderLines', () => {
  it('tells the same in lines', () => {
    compare('lines.txt', renderLines(sampleView()))
  })
})
