// Puts a configuration in force, as a whole or not at all.

import { checkTemplates } from './active-checks.js'
import { endWhenIdle } from './end.js'
import { clientTemplate, outsideTemplates } from './upstream.js'
import { gatewayTemplate } from './tunnel.js'
import { endWithdrawn, state } from './state.js'
import { listenTo } from './listeners.js'
import { makeRuntime } from './runtime.js'
import { serverTemplates } from './inbound.js'

/**
 * @param ownKey - PEM of the key that the configuration was requested with
 * @throws whatever keeps the configuration from being applied; the one before stays in force
 */
export function apply(config, ownKey) {
  if (config.format !== 1) throw new Error('unknown format ' + config.format)
  var before = state.runtime
  var runtime = makeRuntime(config, ownKey, before)
  var same =
    before && before.trustKey === runtime.trustKey && Boolean(before.certificate) === Boolean(runtime.certificate)
  runtime.servers = same ? before.servers : serverTemplates(runtime)
  var sameIdentity = same && before.identityKey === runtime.identityKey
  runtime.client = sameIdentity ? before.client : clientTemplate(runtime)
  runtime.checks = sameIdentity ? before.checks : checkTemplates(runtime)
  runtime.gatewayClient = sameIdentity ? before.gatewayClient : gatewayTemplate(runtime)
  outsideTemplates(runtime, before)
  state.runtime = runtime
  listenTo(config)
  endWithdrawn()
  if (config.ended) endWhenIdle()
}
