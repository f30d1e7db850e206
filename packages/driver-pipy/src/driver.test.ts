import { createServer } from 'node:net'

import { describe, expect, it } from '@jest/globals'
import { checkDriver, validateHealthProbes } from '@osm-ts/driver-api'

import { codebaseOf, literalDocuments, PipyHost } from '../test/mesh.js'
import { pipyDriver } from './driver.js'

const driver = pipyDriver({ readCodebase: async () => codebaseOf('one'), make: literalDocuments })

describe('the Pipy driver', () => {
  it('is one by the contract', () => {
    expect(checkDriver(driver)).toEqual([])
  })

  it('starts with health probes, and stops with the signal', async () => {
    const host = new PipyHost()
    const { probes } = await driver.start(host.context())
    expect(validateHealthProbes(probes)).toEqual([])
    const { port = 0, path = '' } = probes.readiness ?? {}
    expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200)
    expect(JSON.parse((await host.page('/debug/pipy')).body)).toEqual([])
    expect(await host.page('/debug/pipy', { uuid: 'x' })).toMatchObject({ status: 404 })
    expect(await host.page('/debug/pipy', { cfg: '' })).toMatchObject({ status: 400 })
    host.stop()
    await expect(fetch(`http://127.0.0.1:${port}${path}`)).rejects.toThrow()
    expect(host.cancelled).toEqual([])
  })

  it('says what keeps it from starting, and leaves nothing behind', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const host = new PipyHost()
    await expect(driver.start(host.context({ proxyServerPort: port }))).rejects.toMatchObject({
      code: 'OSM_DRIVER_START',
      message: expect.stringContaining(`127.0.0.1:${port}`) as unknown,
    })
    await new Promise((resolve) => taken.close(resolve))
    host.stop()
    expect(host.cancelled).toEqual([])
  })

  it('does not start with an invalid certificate', async () => {
    const host = new PipyHost()
    const credential = { chain: 'nonsense', privateKey: 'nonsense', expiry: '', serialNumber: '1' }
    host.serverTrust.set({ credential, clientRoots: { id: '1', certificates: [host.controlPlane.certificate] } })
    await expect(driver.start(host.context())).rejects.toMatchObject({ code: 'OSM_DRIVER_START' })
    host.stop()
  })
})
