import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { DriverState } from '@osm-ts/core'

import { fakeContext } from '../../test/fake-context.js'
import { PageMesh } from '../../test/page-mesh.js'
import { runCli } from '../run-cli.js'

const failurePolicy = 'Fail'
const envoy: DriverState = {
  name: 'envoy',
  origin: 'built-in',
  version: '',
  contract: 1,
  capabilities: { protocols: ['http', 'tcp'], features: [] } as unknown as NonNullable<DriverState['capabilities']>, // as far as it is shown
  state: 'ready',
  failurePolicy,
}
const reason = { code: 'OSM_DRIVER_MEMORY', message: 'driver acme had 600 MiB in memory\u001b[31m' }
const acme: DriverState = {
  ...envoy,
  name: 'acme',
  origin: 'package',
  version: '1.2.3',
  restarts: 4,
  reason,
  state: 'circuit-open',
}
const forged: DriverState = {
  name: 'forged',
  origin: 'package',
  version: '',
  state: 'refused',
  reason: { code: 'OSM_DRIVER_INTEGRITY', message: 'it has another digest' },
  failurePolicy: 'Ignore',
}

describe('osm driver list', () => {
  let mesh: PageMesh
  let drivers: readonly object[] = []

  beforeAll(async () => {
    mesh = await PageMesh.open('/debug/drivers', () => ({ drivers }))
  })
  afterAll(async () => {
    await mesh.close()
  })

  async function list(answer: readonly object[], ...args: readonly string[]) {
    drivers = answer
    const { context, stdout, stderr } = fakeContext({ cwd: mesh.folder })
    const code = await runCli(['driver', 'list', ...args], context)
    return { code, stdout: stdout.text, stderr: stderr.text }
  }

  it('ends with 0 where every driver runs', async () => {
    const { code, stdout } = await list([envoy])
    expect(stdout).toMatch(/^CLASS +VERSION +CONTRACT +ORIGIN +STATE +RESTARTS +ON FAILURE *$/m)
    expect(stdout).toMatch(/^envoy +- +1 +built-in +ready +- +Fail *$/m)
    expect(code).toBe(0)
  })

  it('says what they can do where there is room for it', async () => {
    const { stdout } = await list([envoy], '-o', 'wide')
    expect(stdout).toMatch(/^CLASS +VERSION +CONTRACT +ORIGIN +STATE +RESTARTS +ON FAILURE +PROTOCOLS +FEATURES *$/m)
    expect(stdout).toMatch(/^envoy +- +1 +built-in +ready +- +Fail +http,tcp +- *$/m)
  })

  it('tells the state of a circuit and why a driver is refused, and ends with 1', async () => {
    const { code, stdout } = await list([acme, envoy, forged])
    expect(stdout).toMatch(/^acme +1\.2\.3 +1 +package +circuit-open +4 +Fail/m)
    expect(stdout).toMatch(/^forged +- +- +package +refused +- +Ignore/m)
    expect(stdout).toContain('\nacme: driver acme had 600 MiB in memory·[31m [OSM_DRIVER_MEMORY]\n')
    expect(stdout).toContain('\nforged: it has another digest [OSM_DRIVER_INTEGRITY]\n')
    expect(code).toBe(1)
    const json = await list([acme, envoy, forged], '-o', 'json')
    expect(JSON.parse(json.stdout)).toMatchObject({ controllers: [{ drivers: [acme, envoy, forged] }] })
  })

  it('says that it does not understand another answer', async () => {
    await expect(list([{ name: 1 }])).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('[OSM_CLI_ANSWER]') as unknown,
    })
  })
})
