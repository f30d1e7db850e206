import type { ControllerContext, Driver, StartedDriver } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import { serveHealth } from '@osm-ts/driver-api/toolkit'

import { capabilities } from './capabilities.js'
import { patch } from './patch.js'
import { HaproxyServer } from './server/server.js'

const configSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  properties: {},
} as const satisfies { readonly [key: string]: JsonValue }

/** The driver of sidecar class `haproxy`. */
export function createHaproxyDriver(): Driver {
  return { name: 'haproxy', contract: { min: 1, max: 1 }, capabilities, configSchema, patch, start }
}

async function start(context: ControllerContext): Promise<StartedDriver> {
  const server = new HaproxyServer(context)
  try {
    await server.start()
    context.debugHandlers.register('/debug/haproxy', async () => ({
      status: 200,
      contentType: 'application/json',
      body: JSON.stringify([...server.sessions].map((session) => session.describe())),
    }))
    return await serveHealth('server of class haproxy', context.proxyServerAddress, server, context.signal)
  } catch (error) {
    await server.close()
    throw error
  }
}
