import { Writable } from 'node:stream'

import { expect, it } from '@jest/globals'

import { countErrorCodes, createLogger } from './logger.js'
import { Metrics } from './metrics.js'

function collecting(lines: string[]): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(chunk.toString())
      done()
    },
  })
}

it('lets no caller give a line the level, component, time or message of another', () => {
  const lines: string[] = []
  const logger = createLogger('test', 'info', collecting(lines)).child('driver')
  const given = { level: 'fatal', component: 'osm-controller', time: 'never', message: 'another' }
  logger.info({ ...given, port: 1 }, 'a line')
  const [line = ''] = lines
  expect(JSON.parse(line)).toEqual({
    level: 'info',
    component: 'driver',
    time: expect.stringMatching(/^\d{4}-/) as unknown,
    message: 'a line',
    port: 1,
    given,
  })
  // Not even a second time under the same name, which readers of JSON take differently.
  for (const name of Object.keys(given)) expect(line.split(`"${name}":`)).toHaveLength(3)
})

it('counts warnings and errors by their code, whatever is logged', async () => {
  const lines: string[] = []
  const logger = createLogger('test', 'error', collecting(lines))
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
