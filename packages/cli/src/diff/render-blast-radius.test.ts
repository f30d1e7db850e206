import { describe, expect, it } from '@jest/globals'

import type { BlastRadius } from './blast-radius.js'
import { renderBlastRadius } from './render-blast-radius.js'

const COUNT = 200_000

describe('renderBlastRadius', () => {
  it('writes the first rows of a table with more rows than a call takes arguments', () => {
    const routes = Array.from({ length: COUNT }, (_, at) => ({
      caller: `shop/s${at}`,
      destination: 'shop/new:80',
      request: 'any request',
      after: 'new',
    }))
    const proxies = { total: COUNT, changed: routes.map(({ caller }) => caller) }
    const radius: BlastRadius = {
      access: { gained: [], lost: [] },
      routes,
      proxies,
      findings: { new: [], resolved: [] },
    }
    const lines = renderBlastRadius(radius, false)
    expect(lines).toHaveLength(1_016)
    expect(lines).toContain(`  and ${COUNT - 1_000} more; -o json lists all`)
    expect(lines).toContain(`  and ${COUNT - 10} more; -o json lists all`)
  })
})
