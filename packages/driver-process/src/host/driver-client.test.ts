import { describe, expect, it } from '@jest/globals'

import { DriverClient } from './driver-client.js'
import { defaultLimits } from './limits.js'

describe('a process of a driver that was given up', () => {
  const start = {
    contract: 1,
    proxyServerAddress: '127.0.0.1',
    proxyServerPort: 1,
    osmNamespace: 'osm-system',
    driverConfig: {},
  }

  it('cannot be asked to start any more, no matter who was about to', async () => {
    const client = new DriverClient('lost', '/nowhere/driver.sock', defaultLimits)
    client.close()
    const starting = client.start(start, '/nowhere/host.sock', () => undefined, new AbortController().signal)
    await expect(starting).rejects.toMatchObject({ code: 'OSM_DRIVER_UNAVAILABLE' })
  })

  it('cannot be asked anything else either', async () => {
    const client = new DriverClient('lost', '/nowhere/driver.sock', defaultLimits)
    client.close()
    const ping = client.ping(new AbortController().signal)
    await expect(ping).rejects.toMatchObject({ code: 'OSM_DRIVER_UNAVAILABLE' })
  })
})
