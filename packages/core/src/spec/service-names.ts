import type { MeshService } from '@osm-ts/driver-api'

/** Full host name of a service: `<name>.<namespace>.svc.<clusterDomain>`, in lower case. */
export function serviceHostName({ namespace, name }: MeshService, clusterDomain: string): string {
  return `${name}.${namespace}.svc.${clusterDomain}`.toLowerCase()
}

/** Name of the apex service of a TrafficSplit, which may be written as a host name. */
export function splitApexName(service: string): string {
  const dot = service.indexOf('.')
  return dot === -1 ? service : service.slice(0, dot)
}
