import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { startTestMesh, type TestMesh } from './support/mesh.js'
import { clientAndStore } from './support/store.js'
import { meshConfig } from './support/yaml.js'

describe('the log level of the control plane', () => {
  let mesh: TestMesh

  /** A MeshConfig with that level, and with a range that can't be read: the controller warns of each once. */
  const config = (osmLogLevel: string, range = '10.0.0.0/8'): string =>
    meshConfig({ traffic: { outboundIPRangeExclusionList: [range] }, observability: { osmLogLevel } })
  const log = (): Promise<string> => readFile(join(mesh.stateFolder, 'logs', 'controller.log'), 'utf8')
  const setLevel = async (level: string): Promise<void> => {
    await mesh.write('config.yaml', config(level))
    await eventually(
      () => mesh.debug('/debug/config'),
      (page) => page.includes(`"osmLogLevel": "${level}"`) || page.includes(`"osmLogLevel":"${level}"`),
      { what: `level ${level}` },
    )
  }
  /** Gives the controller something to warn of, and waits until it knows. */
  const trouble = async (level: string, range: string): Promise<void> => {
    await mesh.write('config.yaml', config(level, range))
    await eventually(
      () => mesh.problems(),
      (problems) => problems.some(({ message }) => message.includes(range)),
      { what: `a problem of ${range}` },
    )
  }

  beforeAll(async () => {
    mesh = await startTestMesh({ 'config.yaml': [config('info')], 'workloads.yaml': [...clientAndStore] })
  })
  afterAll(async () => {
    await mesh.stop()
  })

  it('follows the MeshConfig without a restart', async () => {
    await trouble('info', 'range-told')
    await eventually(log, (text) => text.includes('range-told'), { what: 'a warning' })
    await setLevel('error')
    await trouble('error', 'range-untold')
    await setLevel('warn')
    await trouble('warn', 'range-told-again')
    // Lines come in order: what was before this one and is not there was not written.
    const text = await eventually(log, (lines) => lines.includes('range-told-again'), { what: 'a warning' })
    expect(text).not.toContain('range-untold')
    const starts = mesh.events.filter((event) => event.type === 'controller' && event.state === 'started')
    expect(starts).toHaveLength(1)
  })
})
