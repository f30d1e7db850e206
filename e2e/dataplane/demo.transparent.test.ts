import { describe, expect, it } from '@jest/globals'

import { runDemo } from './support/demo.js'
import { kernelTestObstacle, namespaceNames } from './support/kernel.js'

const LOOK_MS = 250

/** Network namespaces that a process has made: the number of the process is in their names. Test files run side by side, and others have theirs. */
function namespacesOf(pid: number): readonly string[] {
  return namespaceNames().filter((name) => {
    const [, owner = ''] = /^osm-ts-([0-9a-z]+)[0-9a-z]{2}-/.exec(name) ?? []
    return Number.parseInt(owner, 36) === pid
  })
}

describe('the demo in transparent mode', () => {
  it('sees every expectation hold, and leaves no network namespace behind', async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    let demo = 0
    const seen = new Set<string>()
    const look = setInterval(() => {
      for (const name of namespacesOf(demo)) seen.add(name)
    }, LOOK_MS)
    try {
      const { code, result } = await runDemo(['--transparent'], (pid) => (demo = pid))
      expect(result).toMatchObject({ ok: true, failures: [] })
      expect(code).toBe(0)
    } finally {
      clearInterval(look)
    }
    expect(seen.size).toBeGreaterThan(0)
    expect(namespacesOf(demo)).toEqual([])
  })
})
