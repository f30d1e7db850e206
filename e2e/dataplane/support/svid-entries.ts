import type { Registration } from '@osm-ts/controller/testing'

/** As the documentation says how to register a workload: its identity, and the names of the services that it backs. */
export function svidEntry(name: string, ...services: readonly string[]): Registration {
  return {
    spiffeId: `spiffe://cluster.local/${name}/shop`,
    dnsNames: [`${name}.shop.cluster.local`, ...services.map((each) => `${each}.shop.svc.cluster.local`)],
  }
}

/** Entries of the workloads of the shop. */
export const shopEntries: readonly Registration[] = [
  svidEntry('client'),
  svidEntry('thief'),
  svidEntry('lonely', 'lonely'),
  ...['store-v1', 'store-v2', 'store-v3'].map((name) => svidEntry(name, name, 'store')),
]
