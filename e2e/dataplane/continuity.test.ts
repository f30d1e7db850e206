import { readFile } from 'node:fs/promises'

import { expect, it } from '@jest/globals'

import { describeContinuity } from './support/describe-continuity.js'

describeContinuity('envoy', (meshOf) => {
  it('keeps private keys out of every debug page and log', async () => {
    const mesh = meshOf()
    const pages = (await mesh.debug('/debug')).split('\n').filter((path) => path.startsWith('/debug/'))
    expect(pages.length).toBeGreaterThan(5)
    const { uuid } = mesh.instance('shop/store-v1')
    const key =
      (await readFile(`${mesh.stateFolder}/ca/workload/key.pem`, 'utf8').catch(() => '')).split('\n')[1] ??
      'PRIVATE KEY'
    for (const page of pages) {
      const text = await mesh.debug(`${page}?uuid=${uuid}&cfg=true`).catch((error: unknown) => String(error))
      expect(text).not.toContain('PRIVATE KEY')
      expect(text).not.toContain(key)
    }
    const lines = mesh.events.flatMap((event) =>
      event.type === 'output' ? [event.line] : 'detail' in event ? [event.detail ?? ''] : [],
    )
    expect(lines.filter((line) => line.includes('PRIVATE KEY'))).toEqual([])
  })
})
