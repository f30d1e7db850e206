// Puts a configuration in force, as a whole or not at all.

import { checkTemplates } from './active-checks.js'
import { endWhenIdle } from './end.js'
import { clientTemplate, outsideTemplates } from './upstream.js'
import { gatewayTemplate } from './tunnel.js'
import { endWithdrawn, state } from './state.js'
import { listenTo } from './listeners.js'
import { makeWorld } from './world.js'
import { serverTemplates } from './inbound.js'

/**
 * @param ownKey - PEM of the key that the configuration was requested with
 * @throws whatever keeps the configuration from being applied; the one before stays in force
 */
export function apply(config, ownKey) {
  if (config.format !== 1) throw new Error('unknown format ' + config.format)
  var before = state.world
  var world = makeWorld(config, ownKey, before)
  var same = before && before.trustKey === world.trustKey && Boolean(before.certificate) === Boolean(world.certificate)
  world.servers = same ? before.servers : serverTemplates(world)
  var sameIdentity = same && before.identityKey === world.identityKey
  world.client = sameIdentity ? before.client : clientTemplate(world)
  world.checks = sameIdentity ? before.checks : checkTemplates(world)
  world.gatewayClient = sameIdentity ? before.gatewayClient : gatewayTemplate(world)
  outsideTemplates(world, before)
  state.world = world
  listenTo(config)
  endWithdrawn()
  if (config.ended) endWhenIdle()
}
