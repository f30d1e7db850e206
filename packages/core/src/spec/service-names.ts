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

/**
 * The service, or instance of a headless one, that a full host name stands for where it is written in the namespace of the service: `svc.ns`,
 * `svc.ns.svc`, then one label of the cluster domain more each. Undefined for every other host.
 */
export function serviceOfHost(host: string, namespace: string, clusterDomain: string): MeshService | undefined {
  const labels = ['svc', ...clusterDomain.split('.')]
  const suffixes = labels.map((_, index) => `.${labels.slice(0, labels.length - index).join('.')}`)
  for (const suffix of [...suffixes, '']) {
    const end = `.${namespace}${suffix}`.toLowerCase()
    if (!host.toLowerCase().endsWith(end)) continue
    const name = host.slice(0, -end.length).toLowerCase()
    if (/^[^.]+(\.[^.]+)?$/.test(name)) return { namespace, name }
  }
  return undefined
}
