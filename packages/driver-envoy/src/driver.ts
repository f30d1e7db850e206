import {
  CONTRACT_VERSION,
  type ControllerContext,
  type Driver,
  type HealthProbes,
  serveHealth,
} from '@osm-ts/driver-api'

import { configSchema, envoyConfig } from './bootstrap/driver-config.js'
import { createPatch } from './bootstrap/patch.js'
import { capabilities } from './capabilities.js'
import { ResourceDiffer } from './resources/resource-differ.js'
import { DebugPages } from './server/debug-pages.js'
import { LateRelease } from './server/late-release.js'
import { limits } from './server/limits.js'
import { XdsServer } from './server/xds-server.js'
import { blameParts } from './translate/blame.js'
import { Translator } from './translate/translator.js'

/** The driver of sidecar class `envoy`. */
export function createEnvoyDriver(): Driver {
  return { name: 'envoy', contract: CONTRACT_VERSION, capabilities, configSchema, patch: createPatch(), start }
}

async function start(context: ControllerContext): Promise<HealthProbes> {
  const differ = new ResourceDiffer()
  const { connectionAgeSeconds, connectionGraceSeconds, keepaliveSeconds } = envoyConfig(context.driverConfig)
  const server = new XdsServer(context, {
    translator: new LateRelease({
      translator: new Translator(),
      delayMs: limits.keepResourcesMs,
      maxProxies: limits.maxKeptProxies,
      signal: context.signal,
    }),
    diff: (before, after) => differ.diff(before, after),
    trace: blameParts,
    times: {
      ageMs: connectionAgeSeconds * 1_000,
      graceMs: connectionGraceSeconds * 1_000,
      keepaliveMs: keepaliveSeconds * 1_000,
    },
  })
  try {
    await server.start()
    new DebugPages(server.streams).register(context.debugHandlers)
    return await serveHealth('xDS server', context.proxyServerAddress, server, context.signal)
  } catch (error) {
    await server.close()
    throw error
  }
}
