import type { Snapshot } from '../../snapshot/snapshot.js'
import { embeddedIpv4, parseIpRange } from '../../spec/ip-range.js'
import type { KindMap } from '../../spec/objects.js'

/** Virtual addresses of Services, gathered once for each list of Services. */
export class ServiceAddresses {
  #services: readonly KindMap['Service'][] | undefined
  #addresses: ReadonlySet<string> = new Set()

  /** True if a Service of the snapshot has the address. */
  has(snapshot: Snapshot, address: string): boolean {
    // Snapshots share the lists of kinds that did not change.
    const services = snapshot.list('Service')
    if (services !== this.#services) {
      this.#services = services
      const texts = services.flatMap(({ spec: { clusterIP, clusterIPs = [] } }) => [clusterIP ?? '', ...clusterIPs])
      this.#addresses = new Set(texts.flatMap((text) => canonical(text) ?? []))
    }
    const range = parseIpRange(address)
    if (range === undefined) return false
    const embedded = embeddedIpv4(range)
    return this.#addresses.has(range.text) || (embedded !== undefined && this.has(snapshot, embedded))
  }
}

function canonical(address: string): string | undefined {
  return parseIpRange(address)?.text
}
