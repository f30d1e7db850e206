import type { ControllerContext, Driver, StartedDriver } from '@osm-ts/driver-api'
import { serveHealth } from '@osm-ts/driver-api/toolkit'

import { configSchema, envoyConfig, httpLimits, longestDrainSeconds } from './bootstrap/driver-config.js'
import { createPatch } from './bootstrap/patch.js'
import { capabilities } from './capabilities.js'
import { ResourceDiffer } from './resources/resource-differ.js'
import { DebugPages } from './server/debug-pages.js'
import { DisconnectedResourceCache } from './server/policies/disconnected-resource-cache.js'
import { limits } from './server/limits.js'
import { XdsServer } from './server/xds-server.js'
import { attributeRejection } from './translate/attribute-rejection.js'
import { Translator } from './translate/translator.js'

/** The driver of sidecar class `envoy`. */
export function createEnvoyDriver(): Driver {
  return {
    name: 'envoy',
    contract: { min: 1, max: 1 },
    capabilities,
    configSchema,
    followsEndpoints: true,
    // Under 1.36 access rules match no caller, and 1.36 has not been tried.
    oldestProxyVersion: '1.37',
    patch: createPatch(),
    start,
  }
}

async function start(context: ControllerContext): Promise<StartedDriver> {
  const differ = new ResourceDiffer()
  const config = envoyConfig(context.driverConfig)
  const { connectionAgeSeconds, connectionGraceSeconds, keepaliveSeconds } = config
  const server = new XdsServer(context, {
    translator: new DisconnectedResourceCache({
      translator: new Translator(httpLimits(config)),
      delayMs: limits.keepResourcesMs,
      maxProxies: limits.maxKeptProxies,
      signal: context.signal,
    }),
    diff: (before, after) => differ.diff(before, after),
    trace: attributeRejection,
    times: {
      ageMs: connectionAgeSeconds * 1_000,
      graceMs: connectionGraceSeconds * 1_000,
      keepaliveMs: keepaliveSeconds * 1_000,
      drainMs: longestDrainSeconds(config) * 1_000,
    },
  })
  try {
    await server.start()
    new DebugPages(server.streams, context.signal).register(context.debugHandlers)
    return await serveHealth('xDS server', context.proxyServerAddress, server, context.signal)
  } catch (error) {
    await server.close()
    throw error
  }
}

/** Codes of this driver's errors and log entries. */
export const envoyErrorCodes = {
  OSM_ENVOY_XDS_REJECTED: 'a proxy rejected a response; the rejected resources are not sent again until they change',
  OSM_ENVOY_NODE_MISMATCH: 'a proxy sent a node id that is not the common name of its certificate',
  OSM_ENVOY_SECRET_DENIED: 'a proxy requested a secret of another proxy; the response says that it does not exist',
  OSM_ENVOY_REQUEST_INVALID: 'a proxy sent a request that exceeds a limit of the xDS server',
  OSM_ENVOY_TRANSLATION: 'a policy could not be translated; the last good configuration stays in force',
  OSM_ENVOY_TRUST: 'the certificate or the roots of the control plane cannot be used',
} as const

/** A code of {@link envoyErrorCodes}. */
export type EnvoyErrorCode = keyof typeof envoyErrorCodes
