import { ComputeManagementClient } from '@azure/arm-compute'
import { NetworkManagementClient } from '@azure/arm-network'
import type { TokenCredential } from '@azure/identity'
import { ResolveFailure, type CallMeter } from '@osm-ts/endpoints-polling'

import { readRetryAfter } from './failures.js'
import type { CloudEndpoints } from './settings.js'

/** Longest time for a call and for a token, in milliseconds. */
const callTimeoutMs = 30_000

type Pipeline = ComputeManagementClient['pipeline']
type PipelinePolicy = Parameters<Pipeline['addPolicy']>[0]

/** The clients of one subscription. */
export interface AzureClients {
  readonly compute: ComputeManagementClient
  readonly network: NetworkManagementClient
}

/** Options of {@link openClients}. */
export interface ClientOptions {
  readonly subscription: string
  readonly credential: TokenCredential
  readonly endpoints: CloudEndpoints
  /** Further certificate authorities in PEM. */
  readonly ca: string | undefined
  readonly meter: CallMeter
  readonly signal: AbortSignal
}

/** Opens the clients of a subscription. They retry nothing: the next round does. */
export function openClients({ subscription, credential, endpoints, ca, meter, signal }: ClientOptions): AzureClients {
  const bounded: TokenCredential = {
    getToken: async (scopes, options) =>
      credential.getToken(scopes, { ...options, abortSignal: boundedSignal(signal) }),
  }
  const common = {
    endpoint: endpoints.resourceManager,
    retryOptions: { maxRetries: 0 },
    ...(ca === undefined ? {} : { tlsOptions: { ca } }),
  }
  const compute = new ComputeManagementClient(bounded, subscription, {
    ...common,
    credentials: { scopes: [endpoints.scope] },
  })
  const network = new NetworkManagementClient(bounded, subscription, {
    ...common,
    credentialScopes: endpoints.scope,
  })
  const policy = meteredCalls(endpoints.resourceManager, meter, signal)
  compute.pipeline.addPolicy(policy, { afterPhase: 'Retry' })
  network.pipeline.addPolicy(policy, { afterPhase: 'Retry' })
  return { compute, network }
}

function boundedSignal(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)])
}

/** Counts and limits calls, bounds their time, and sends tokens to Resource Manager only: links to further pages come from answers. */
function meteredCalls(resourceManager: string, meter: CallMeter, signal: AbortSignal): PipelinePolicy {
  const { origin } = new URL(resourceManager)
  return {
    name: 'osmMeteredCalls',
    sendRequest: async (request, next) => {
      const url = new URL(request.url)
      if (url.origin !== origin) {
        throw new ResolveFailure('Unavailable', 'the API answered with a link to a page on another host')
      }
      await meter.admit(signal)
      const operation = operationOf(url.pathname)
      request.abortSignal = boundedSignal(signal)
      try {
        const response = await next(request)
        meter.count(operation, response.status === 429 ? 'throttled' : response.status < 400 ? 'ok' : 'failed')
        if (response.status === 429) {
          const retryAfterMs = readRetryAfter(response.headers.get('retry-after')) ?? 60_000
          throw new ResolveFailure(
            'Throttled',
            `${operation} was throttled; next attempt in ${Math.ceil(retryAfterMs / 1000)} s`,
            retryAfterMs,
          )
        }
        return response
      } catch (error) {
        if (!(error instanceof ResolveFailure)) meter.count(operation, 'failed')
        throw error
      }
    },
  }
}

/** The types of resources in a path, such as `virtualMachineScaleSets/virtualMachines`: names of resources are not part of it. */
export function operationOf(path: string): string {
  const below = path.split(/\/providers\/[^/]+\//i)[1] ?? ''
  return below
    .split('/')
    .filter((_, index) => index % 2 === 0)
    .slice(0, 3)
    .join('/')
}
