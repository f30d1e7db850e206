import { AutoScalingClient } from '@aws-sdk/client-auto-scaling'
import { EC2Client } from '@aws-sdk/client-ec2'
import type { CallMeter } from '@osm-ts/endpoints-polling'

import { readCredential } from './credential.js'
import { toResolveFailure } from './failures.js'
import type { AwsSettings } from './settings.js'

/** Longest time for a call with all that it takes, such as a token, in milliseconds. */
const callTimeoutMs = 30_000

/** The clients of one region. */
export interface AwsClients {
  readonly ec2: EC2Client
  readonly autoScaling: AutoScalingClient
  /** Makes a call that is counted, limited, and bounded in time. Rejects with a ResolveFailure. */
  call<T>(operation: string, request: (abortSignal: AbortSignal) => Promise<T>): Promise<T>
  close(): void
}

/** Opens the clients of a region. They retry nothing: the next round does. */
export function openClients(
  region: string,
  { endpoint, credentialFile }: AwsSettings,
  meter: CallMeter,
  signal: AbortSignal,
): AwsClients {
  const options = {
    region,
    maxAttempts: 1,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentialFile === undefined ? {} : { credentials: async () => readCredential(credentialFile) }),
  }
  const ec2 = new EC2Client(options)
  const autoScaling = new AutoScalingClient(options)
  return {
    ec2,
    autoScaling,
    call: async (operation, request) => {
      await meter.admit(signal)
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)])
      try {
        const result = await Promise.race([request(bounded), rejectOnAbort(bounded)])
        meter.count(operation, 'ok')
        return result
      } catch (error) {
        const failure = toResolveFailure(error, operation)
        meter.count(operation, failure.code === 'Throttled' ? 'throttled' : 'failed')
        throw failure
      }
    },
    close: () => {
      ec2.destroy()
      autoScaling.destroy()
    },
  }
}

/** Providers of credentials of the SDK take no signal. */
async function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        reject(signal.reason as Error)
      },
      { once: true },
    )
  })
}
