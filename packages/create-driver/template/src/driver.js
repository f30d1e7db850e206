import { serveHealth } from '@osm-ts/driver-api/toolkit'

import { patch } from './patch.js'
import { PolicyServer } from './policy-server.js'

/** The driver of sidecar class mysidecar. Importing it does nothing: the mesh calls `patch` and `start`. */
export default function createDriver() {
  return {
    name: 'mysidecar',
    contract: { min: 1, max: 1 },
    // What the proxy enforces, and nothing beyond it: the mesh refuses or reports whatever is not declared here.
    capabilities: {
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
    },
    // Of sidecarDrivers[].config; fields that it does not describe are refused.
    configSchema: { type: 'object', additionalProperties: false, properties: {} },
    patch,
    start,
  }
}

/** @param {import('@osm-ts/driver-api').ControllerContext} context */
async function start(context) {
  const server = new PolicyServer(context)
  try {
    await server.start()
    return await serveHealth('policy server', context.proxyServerAddress, server, context.signal)
  } catch (error) {
    await server.close()
    throw error
  }
}
