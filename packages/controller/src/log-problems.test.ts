import { createLogger, type Problem } from '@osm-ts/core'
import { describe, expect, it } from '@jest/globals'

import { logProblems } from './log-problems.js'

const problem = (field: string, kind = 'Service'): Problem => ({
  code: 'OSM_SPEC_SCHEMA',
  severity: 'error',
  message: 'is missing',
  field,
  object: { kind, namespace: 'shop', name: 'store' },
})

/** What is logged where each list is in turn. */
function logged(...looks: readonly (readonly Problem[])[]): readonly string[] {
  const lines: string[] = []
  const logger = createLogger('test', 'info', { write: (line: string) => void lines.push(line) })
  let found = (): void => undefined
  let current: readonly Problem[] = []
  logProblems(
    {
      current: () => current,
      subscribe: (listener) => {
        found = listener
        return () => undefined
      },
    },
    logger,
  )
  for (const look of looks) {
    current = look
    found()
  }
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
  it('logs a problem in full when it appears, and not again while it stands', () => {
    expect(logged([problem('spec.a')], [problem('spec.a')])).toEqual([first])
  })

  it('counts what was mended, and logs a problem that returns', () => {
    expect(logged([problem('spec.a')], [], [problem('spec.a')])).toEqual([
      first,
      'problems of the mesh specification were mended: 1',
      first,
    ])
  })

  it('counts what is too much to log', () => {
    const many = Array.from({ length: 60 }, (_, index) => problem(`spec.ports[${index}]`))
    const lines = logged(many)
    expect(lines).toHaveLength(51)
    expect(lines.at(-1)).toBe('the mesh specification has more problems than are logged: 10')
  })

  it('leaves problems of the MeshConfig to what follows it', () => {
    expect(logged([problem('spec.a', 'MeshConfig')])).toEqual([])
  })
})
