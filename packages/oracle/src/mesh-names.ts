import { isInRange } from './addresses.js'
import type { Known, Objects, Ref } from './objects.js'
import { isServed } from './services.js'

/** A host in lower case, without the final dot that it may be written with. */
export function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '')
}

/**
 * The service of the mesh that a host names to callers in a namespace; undefined for hosts outside. An instance of a headless service goes by the name of
 * the service here.
 */
export function serviceNamed(
  objects: Objects,
  host: string,
  namespace: string,
  clusterDomain: string,
): Ref | undefined {
  const labels = withoutDomain(plainHost(host), clusterDomain).split('.')
  const [first = '', second, third, ...more] = labels
  if (more.length > 0) return undefined
  const named =
    second === undefined
      ? { namespace, name: first }
      : third === undefined
        ? { namespace: second, name: first }
        : undefined
  if (named !== undefined && isService(objects, named)) return named
  const [instanceOf = '', home = namespace] = [second, third]
  const headless = { namespace: home, name: instanceOf }
  const service = objects.find('Service', headless)
  return isServed(objects, service) && service.spec.clusterIP === 'None' ? headless : undefined
}

/** True if a wildcard `*.<domain>` is about names of services: all of them, or those of a namespace. */
export function isMeshDomain(objects: Objects, domain: string, clusterDomain: string): boolean {
  const services = `svc.${clusterDomain}`
  if (services === domain || services.endsWith(`.${domain}`)) return true
  if (!domain.endsWith(`.${services}`)) return false
  const namespace = domain
    .slice(0, -services.length - 1)
    .split('.')
    .at(-1)
  return objects.list('Service').some((service) => service.namespace === namespace && isServed(objects, service))
}

/** True if a service of the mesh has the only address of a range on the port. */
export function isMeshAddress(objects: Objects, range: string, port: number): boolean {
  return objects
    .list('Service')
    .some(
      (service) =>
        isServed(objects, service) &&
        hasPort(service, port) &&
        addressesOf(service).some((address) => isInRange(address, range)),
    )
}

function addressesOf({ spec: { clusterIP = '', clusterIPs = [] } }: Known<'Service'>): readonly string[] {
  return [clusterIP, ...clusterIPs]
}

function hasPort({ spec }: Known<'Service'>, number: number): boolean {
  return (spec.ports ?? []).some(({ port, protocol = 'TCP' }) => port === number && protocol === 'TCP')
}

function isService(objects: Objects, ref: Ref): boolean {
  return isServed(objects, objects.find('Service', ref))
}

/** A host without `svc` and what of the domain of the cluster is behind it. */
function withoutDomain(host: string, clusterDomain: string): string {
  const domain = ['svc', ...clusterDomain.split('.')]
  const endings = domain.map((_, index) => `.${domain.slice(0, index + 1).join('.')}`)
  const ending = endings.toReversed().find((each) => host.endsWith(each))
  return ending === undefined ? host : host.slice(0, -ending.length)
}

/** Whether a host is the one named, or below it where the name starts with `*.`. Both are in lower case. */
export function isHostOf(named: string, host: string): boolean {
  if (named === host) return true
  return named.startsWith('*.') && host.endsWith(named.slice(1)) && host.length > named.length - 1
}
