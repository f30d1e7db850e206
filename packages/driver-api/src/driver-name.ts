const dnsLabel = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i

/** True for a name that a driver, and so a sidecar class, may have: a DNS label of at most 63 characters. */
export function isDriverName(name: unknown): name is string {
  return typeof name === 'string' && dnsLabel.test(name)
}

/** The form of a driver's name that names are compared in, and that policies and annotations hold. */
export function driverKey(name: string): string {
  return name.toLowerCase()
}

/** What the annotations that a driver adds must start with. */
export function annotationPrefix(driverName: string): string {
  return `${driverKey(driverName)}.sidecar.openservicemesh.io/`
}
