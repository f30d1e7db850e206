import type { ControllerContext, Driver, StartedDriver } from '@osm-ts/driver-api'
import type { JsonValue } from '@osm-ts/driver-api/policy'
import { serveHealth } from '@osm-ts/driver-api/toolkit'

import { patch } from './bootstrap/patch.js'
import { capabilities } from './capabilities.js'
import type { Codebase } from './codebase/codebase.js'
import { readCodebase } from './codebase/read-codebase.js'
import { type DocumentMaker, documentMaker } from './document.js'
import { DebugPages } from './server/debug-pages.js'
import { RepoServer } from './server/repo-server.js'

/** JSON Schema of `sidecarDrivers[].config` for class pipy. */
const configSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  properties: {},
} as const satisfies { readonly [key: string]: JsonValue }

/** The driver of sidecar class `pipy`. */
export function createPipyDriver(): Driver {
  return pipyDriver({ readCodebase, make: documentMaker() })
}

/** What a driver delivers. */
interface PipyDriverParts {
  readonly readCodebase: () => Promise<Codebase>
  readonly make: DocumentMaker
}

/** A driver of sidecar class `pipy` that delivers these. */
export function pipyDriver(parts: PipyDriverParts): Driver {
  return {
    name: 'pipy',
    contract: { min: 1, max: 1 },
    capabilities,
    configSchema,
    // The scripts do not load in 0.90, which osm-edge had.
    oldestProxyVersion: '1.5',
    patch,
    start: (context) => start(context, parts),
  }
}

async function start(context: ControllerContext, { readCodebase, make }: PipyDriverParts): Promise<StartedDriver> {
  const server = new RepoServer(context, { codebase: await readCodebase(), make })
  try {
    await server.start()
    new DebugPages(server, context.signal).register(context.debugHandlers)
    return await serveHealth('repo server', context.proxyServerAddress, server, context.signal)
  } catch (error) {
    await server.close()
    throw error
  }
}
