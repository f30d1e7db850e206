import { isOsmError } from '@osm-ts/driver-api'
import { createMeshNetwork, findFreeRanges, type MeshNetwork } from '../../../packages/standalone/src/netns/index.js'

/**
 * Service ranges, of which the first free one is taken: wide enough for the thousand services of a load test. Several API servers may
 * run on a machine at a time.
 */
const serviceRanges: readonly string[] = ['10', '172'].flatMap((first) =>
  Array.from({ length: 32 }, (_, index) =>
    first === '10'
      ? `10.${String(192 + (index >> 2))}.${String((index & 3) * 64)}.0/18`
      : `172.${String(24 + (index >> 2))}.${String((index & 3) * 64)}.0/18`,
  ),
)

/**
 * A network for an API server: an address of this host that is not loopback, and a blackhole for the service range, so that a call to a
 * service that nothing answers for ends on this machine.
 */
export async function createServerNetwork(
  signal: AbortSignal,
): Promise<{ readonly network: MeshNetwork; readonly serviceRange: string }> {
  for (const serviceRange of serviceRanges) {
    const network = await unlessTaken(async () => {
      const { subnet } = await findFreeRanges(signal)
      return createMeshNetwork({ subnet, vipRange: serviceRange }, signal)
    })
    if (network !== undefined) return { network, serviceRange }
  }
  throw new Error('no free address range was found for services')
}

const attempts = 20

/** A network for pods, on the same host as the API server but with addresses of its own. */
export async function createPodNetwork(signal: AbortSignal): Promise<MeshNetwork> {
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const network = await unlessTaken(async () => createMeshNetwork(await findFreeRanges(signal), signal))
    if (network !== undefined) return network
  }
  throw new Error('no free address range was found for pods')
}

/** Undefined when another process took the range in between, or before. */
async function unlessTaken(create: () => Promise<MeshNetwork>): Promise<MeshNetwork | undefined> {
  try {
    return await create()
  } catch (error) {
    if (isOsmError(error, 'OSM_NETNS_RANGE_IN_USE')) return undefined
    throw error
  }
}
