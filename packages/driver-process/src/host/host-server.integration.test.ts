import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { FakeHost } from '@osm-ts/driver-testkit'

import { HostServer } from './host-server.js'
import { RelayedTelemetry } from './relayed-telemetry.js'

let folder: string
let host: FakeHost

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'osm-host-server-'))
  host = new FakeHost('any')
})
afterEach(async () => {
  host.stop()
  await rm(folder, { recursive: true })
})

function hostServer(): { readonly server: HostServer; readonly socket: string } {
  const context = host.context()
  const socket = join(folder, 'host.sock')
  const telemetry = new RelayedTelemetry(context)
  const page = () => Promise.reject(new Error('there is none'))
  return { server: new HostServer({ context, socket, telemetry, page, mounted: new Set() }), socket }
}

describe('HostServer', () => {
  it('listens from its start to its end', async () => {
    const { server, socket } = hostServer()
    await server.start()
    expect(existsSync(socket)).toBe(true)
    await server.close()
    expect(existsSync(socket)).toBe(false)
  })

  it('that is closed while it starts does not listen afterwards', async () => {
    const { server, socket } = hostServer()
    const starting = server.start()
    await server.close()
    await starting
    expect(existsSync(socket)).toBe(false)
  })
})
