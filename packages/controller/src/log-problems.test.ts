import { createLogger, type Clock, type Problem, type Steps } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'

import { logProblems } from './log-problems.js'

const problem = (field: string, kind = 'Service'): Problem => ({
  code: 'OSM_SPEC_SCHEMA',
  severity: 'error',
  message: 'is missing',
  field,
  object: { kind, namespace: 'shop', name: 'store' },
})

/** Finds in each look what stands in the next of the lists, and stops after the last. */
async function logged(...looks: readonly (readonly Problem[])[]): Promise<readonly string[]> {
  const lines: string[] = []
  const logger = createLogger('test', 'info', { write: (line: string) => void lines.push(line) })
  const stop = new AbortController()
  let changed = (): void => undefined
  let look = 0
  const clock: Clock = {
    now: () => 0,
    setTimer: (callback) => {
      if (look === looks.length) stop.abort()
      changed()
      queueMicrotask(callback)
      return () => undefined
    },
  }
  function* problems(): Steps<readonly Problem[]> {
    yield
    return looks[look++] ?? []
  }
  const subscribe = (listener: () => void) => {
    changed = listener
    return () => undefined
  }
  await logProblems({ problems, subscribe, clock, logger, signal: stop.signal })
  return lines.map((line) => {
    const {
      problem: text,
      problems: count,
      ...fields
    } = JSON.parse(line) as Readonly<Record<string, string | number | undefined>>
    const message = fields['message'] ?? fields['msg']
    return text === undefined ? `${String(message)}: ${String(count)}` : String(text)
  })
}

const first = 'error: Service shop/store: spec.a: is missing [OSM_SPEC_SCHEMA]'

describe('logProblems', () => {
  it('logs a problem in full when it appears, and not again while it stands', async () => {
    expect(await logged([problem('spec.a')], [problem('spec.a')])).toEqual([first])
  })

  it('counts what was mended, and logs a problem that comes back', async () => {
    expect(await logged([problem('spec.a')], [], [problem('spec.a')])).toEqual([
      first,
      'problems of the mesh specification were mended: 1',
      first,
    ])
  })

  it('counts what is too much to log', async () => {
    const many = Array.from({ length: 60 }, (_, index) => problem(`spec.ports[${index}]`))
    const lines = await logged(many)
    expect(lines).toHaveLength(51)
    expect(lines.at(-1)).toBe('the mesh specification has more problems than are logged: 10')
  })

  it('leaves problems of the MeshConfig to what follows it', async () => {
    expect(await logged([problem('spec.a', 'MeshConfig')])).toEqual([])
  })
})
