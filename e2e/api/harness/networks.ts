import { randomInt } from 'node:crypto'
import { isOsmError } from '@osm-ts/driver-api'
import { createMeshNetwork, type MeshNetwork } from '@osm-ts/standalone/testing'

/** Addresses of which networks are made: a corner of a private range, and one for machines whose own network is all of that. */
interface AddressPlan {
  readonly subnet: (index: number) => string
  readonly unusedServices: (index: number) => string
  /** 64 ranges, each wide enough for the thousand services of a load test. */
  readonly services: (index: number) => string
}

const plans: readonly AddressPlan[] = [
  {
    subnet: (index) => `10.189.${index}.0/24`,
    unusedServices: (index) => `10.190.${index}.0/24`,
    services: (index) => `10.${192 + (index >> 2)}.${(index & 3) * 64}.0/18`,
  },
  {
    subnet: (index) => `198.18.${index}.0/24`,
    unusedServices: (index) => `198.19.${index}.0/24`,
    services: (index) => `172.${16 + (index >> 2)}.${(index & 3) * 64}.0/18`,
  },
]
const subnetCount = 256
const serviceRangeCount = 64
const attempts = 200

/**
 * A network for an API server: an address of this host that is not loopback, and a blackhole for the service range, so that a call to a
 * service that nothing answers for ends on this machine.
 */
export async function createServerNetwork(
  signal: AbortSignal,
): Promise<{ readonly network: MeshNetwork; readonly serviceRange: string }> {
  return firstFree(async ({ subnet, services }) => {
    const serviceRange = services(randomInt(serviceRangeCount))
    const ranges = { subnet: subnet(randomInt(subnetCount)), vipRange: serviceRange }
    return { network: await createMeshNetwork(ranges, signal), serviceRange }
  })
}

/** A network for pods, on the same host as the API server but with addresses of its own. */
export async function createPodNetwork(signal: AbortSignal): Promise<MeshNetwork> {
  return firstFree(({ subnet, unusedServices }) => {
    const index = randomInt(subnetCount)
    return createMeshNetwork({ subnet: subnet(index), vipRange: unusedServices(index) }, signal)
  })
}

/**
 * Tries ranges at random until one is free, so that runs side by side rarely try the same one. That none is taken twice, createMeshNetwork sees to.
 */
async function firstFree<T>(create: (plan: AddressPlan) => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const plan = plans[attempt < attempts / 2 ? 0 : 1]
    if (plan === undefined) break
    try {
      return await create(plan)
    } catch (error) {
      if (!isOsmError(error, 'OSM_NETNS_RANGE_IN_USE')) throw error
    }
  }
  throw new Error('no free address range was found: this machine routes all of 10.0.0.0/8 and 198.18.0.0/15')
}
