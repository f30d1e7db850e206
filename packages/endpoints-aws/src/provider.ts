import {
  ENDPOINTS_CONTRACT_VERSION,
  type CustomResource,
  type EndpointsPlugin,
  type ProviderContext,
  type RunningProvider,
} from '@osm-ts/endpoints-api'
import { CallMeter, Poller, systemClock, withServices } from '@osm-ts/endpoints-polling'

import { AwsRound } from './aws-round.js'
import { openClients, type AwsClients } from './clients.js'
import { awsResource } from './resource-kind.js'
import { selectorsOf } from './selector.js'
import { settingsSchema, type AwsSettings } from './settings.js'

/** Finds endpoints of services on instances of EC2. */
export const awsProvider: EndpointsPlugin = {
  name: 'aws',
  contractVersion: ENDPOINTS_CONTRACT_VERSION,
  resourceKinds: [awsResource],
  settingsSchema,
  start: async (context) => Promise.resolve(start(context)),
}

function start(context: ProviderContext): RunningProvider {
  const settings = context.settings as unknown as AwsSettings // valid for settingsSchema
  const clock = systemClock
  const meter = new CallMeter({
    callsPerMinute: settings.callsPerMinute ?? 120,
    clock,
    count: (operation, outcome) => {
      context.countCall(operation, outcome)
    },
  })
  const clients = new Map<string, AwsClients>()
  const clientsOf = (region: string): AwsClients => {
    const found = clients.get(region) ?? openClients(region, settings, meter, context.signal)
    clients.set(region, found)
    return found
  }
  const cloud = {
    selectors: (resource: CustomResource) => selectorsOf(resource, settings),
    startRound: () => new AwsRound(clientsOf),
  }
  const intervalMs = (settings.intervalSeconds ?? 60) * 1000
  const stopped = new Poller(cloud, meter, withServices(context, awsResource, settings.services), { intervalMs, clock })
    .run()
    .finally(() => {
      for (const each of clients.values()) each.close()
    })
  return { stopped }
}
