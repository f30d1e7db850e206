import { Writable } from 'node:stream'

import { expect, it } from '@jest/globals'

import { countErrorCodes, createLogger } from './logger.js'
import { Metrics } from './metrics.js'

it('counts warnings and errors by their code, whatever is logged', async () => {
  const lines: string[] = []
  const logger = createLogger(
    'test',
    'error',
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        lines.push(chunk.toString())
        done()
      },
    }),
  )
  const metrics = new Metrics()
  countErrorCodes(logger, metrics)
  logger.warn({ code: 'OSM_ONE' }, 'not logged at this level')
  logger.child('part').error({ code: 'OSM_TWO' }, 'logged')
  logger.info({ code: 'OSM_THREE' }, 'no error')
  logger.error({}, 'without a code')
  const { body } = await metrics.render()
  expect(body.split('\n').filter((line) => line.startsWith('osm_error_err_code_count'))).toEqual([
    'osm_error_err_code_count{err_code="OSM_ONE"} 1',
    'osm_error_err_code_count{err_code="OSM_TWO"} 1',
  ])
  expect(lines).toHaveLength(2)
})
