import type { Capabilities, ControllerContext, Driver, StartedDriver } from '@osm-ts/driver-api'
import { serveHealth } from '@osm-ts/driver-api/toolkit'

import { patch } from './patch.js'
import { PolicyServer } from './policy-server.js'

// The mesh uses the default export of the package.
export { createDriver as default }

/** What the proxy enforces, and nothing beyond it: the mesh refuses or reports everything that is not declared here. */
const capabilities: Capabilities = {
  protocols: ['tcp'],
  pathMatches: [],
  headerMatches: [],
  upstreamIdentity: 'principal',
  modes: ['explicit'],
  standalone: true,
  ipFamilies: ['IPv4'],
  operatingSystems: ['linux'],
  drain: false,
  features: [],
}

/** The driver of sidecar class mysidecar. Importing it does nothing: the mesh calls `patch` and `start`. */
function createDriver(): Driver {
  return {
    name: 'mysidecar',
    contract: { min: 1, max: 1 },
    capabilities,
    // Describes sidecarDrivers[].config; other fields are refused.
    configSchema: { type: 'object', additionalProperties: false, properties: {} },
    patch,
    start,
  }
}

async function start(context: ControllerContext): Promise<StartedDriver> {
  const server = new PolicyServer(context)
  try {
    await server.start()
    return await serveHealth('policy server', context.proxyServerAddress, server, context.signal)
  } catch (error) {
    await server.close()
    throw error
  }
}
