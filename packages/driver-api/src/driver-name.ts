const dnsLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i

/** True for a valid name of a driver and sidecar class: a DNS label of at most 63 characters. */
export function isDriverName(name: unknown): name is string {
  return typeof name === 'string' && dnsLabel.test(name)
}

/** Returns the normalized form of a driver's name, which is used in comparisons, policies and annotations. */
export function driverKey(name: string): string {
  return name.toLowerCase()
}

/** Returns the required prefix of annotations that a driver adds. */
export function annotationPrefix(driverName: string): string {
  return `${driverKey(driverName)}.sidecar.openservicemesh.io/`
}
