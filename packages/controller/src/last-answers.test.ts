import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { ProcessLogger } from '@osm-ts/core'

import { LastAnswers } from './last-answers.js'

describe('the last answers of endpoints providers', () => {
  let folder: string
  let warnings: string[]
  let timers: (() => void)[]

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'osm-answers-'))
    warnings = []
    timers = []
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  function open(name = 'answers.json'): LastAnswers {
    return new LastAnswers({
      path: join(folder, name),
      setTimer: (callback) => {
        timers.push(callback)
        return () => undefined
      },
      logger: { warn: (_fields: object, message: string) => warnings.push(message) } as unknown as ProcessLogger,
    })
  }

  it('are there after a restart, for its owner alone', async () => {
    const first = open()
    first.put('azure', { services: [1] })
    first.put('aws', { services: [] })
    first.put('azure', { services: [2] })
    expect(timers).toHaveLength(1)
    await first.close()
    expect(statSync(join(folder, 'answers.json')).mode & 0o777).toBe(0o600)
    const second = open()
    expect(second.get('azure')).toEqual({ services: [2] })
    expect(second.get('dns')).toBeUndefined()
    second.keepOnly(['aws'])
    expect(second.get('azure')).toBeUndefined()
    expect(warnings).toEqual([])
  })

  it('are written a while after they come', async () => {
    const answers = open()
    answers.put('azure', { services: [] })
    timers[0]?.()
    await answers.close()
    expect(readFileSync(join(folder, 'answers.json'), 'utf8')).toBe('{"azure":{"services":[]}}')
  })

  it.each(['{', '[]'])('are none where the file holds %s', (text) => {
    writeFileSync(join(folder, 'answers.json'), text)
    expect(open().get('azure')).toBeUndefined()
    expect(warnings).toHaveLength(1)
  })

  it('are not kept where the file cannot be written, or would be too large', async () => {
    const nowhere = open('missing/answers.json')
    nowhere.put('azure', {})
    await nowhere.close()
    const large = open()
    large.put('azure', 'x'.repeat(33 << 20))
    await large.close()
    expect(warnings).toHaveLength(2)
    expect(open().get('azure')).toBeUndefined()
  })
})
