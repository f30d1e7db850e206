import { readFile } from 'node:fs/promises'

import {
  ENDPOINTS_CONTRACT_VERSION,
  type EndpointsPlugin,
  type ProviderContext,
  type RunningProvider,
} from '@osm-ts/endpoints-api'
import { CallMeter, Poller, systemClock, withServices } from '@osm-ts/endpoints-polling'

import { AzureRound } from './azure-round.js'
import { openClients, type AzureClients } from './clients.js'
import { openCredential } from './credential.js'
import { azureResource } from './resource-kind.js'
import { selectorsOf } from './selector.js'
import { cloudEndpoints, settingsSchema, type AzureSettings } from './settings.js'

/** Finds endpoints of services on virtual machines and scale sets of Azure. */
export const azureProvider: EndpointsPlugin = {
  name: 'azure',
  contractVersion: ENDPOINTS_CONTRACT_VERSION,
  resourceKinds: [azureResource],
  settingsSchema,
  start,
}

async function start(context: ProviderContext): Promise<RunningProvider> {
  const settings = context.settings as unknown as AzureSettings // valid for settingsSchema
  const { signal } = context
  const clock = systemClock
  const endpoints = cloudEndpoints(settings)
  const ca = endpoints.caFile === undefined ? undefined : await readFile(endpoints.caFile, 'utf8')
  const credential = openCredential(settings.credential, endpoints, ca)
  const meter = new CallMeter({
    callsPerMinute: settings.callsPerMinute ?? 120,
    clock,
    count: (operation, outcome) => {
      context.countCall(operation, outcome)
    },
  })
  const clients = new Map<string, AzureClients>()
  const clientsOf = (subscription: string): AzureClients => {
    const found = clients.get(subscription) ?? openClients({ subscription, credential, endpoints, ca, meter, signal })
    clients.set(subscription, found)
    return found
  }
  const cloud = {
    selectors: (resource: Parameters<typeof selectorsOf>[0]) => selectorsOf(resource, settings.subscriptions),
    startRound: () => new AzureRound(clientsOf),
  }
  const intervalMs = (settings.intervalSeconds ?? 60) * 1000
  return {
    stopped: new Poller(cloud, meter, withServices(context, azureResource, settings.services), {
      intervalMs,
      clock,
    }).run(),
  }
}
