import type { Kind } from './schema/kinds.js'

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Kinds whose names become labels of host names or identities. */
const labelKinds: ReadonlySet<Kind> = new Set<Kind>([
  'Namespace',
  'Service',
  'Workload',
  'ServiceImport',
  'ServiceExport',
])

/** What a valid namespace is, if the text is none. */
export function namespaceFault(namespace: string): string | undefined {
  return label.test(namespace) ? undefined : labelRule
}

/** What a valid name for the kind is, if the text is none. */
export function nameFault(kind: Kind, name: string): string | undefined {
  if (labelKinds.has(kind)) return label.test(name) ? undefined : labelRule
  return name.length <= 253 && subdomain.test(name) ? undefined : subdomainRule
}

/** A host name as it is compared: in lower case, without the dot that a fully qualified name may end with. */
export function canonicalHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '')
}

const labelRule = 'must be 1 to 63 lower-case letters, digits and hyphens, with a letter or digit at both ends'
const subdomainRule =
  'must be 1 to 253 lower-case letters, digits, hyphens and dots, with a letter or digit at both ends of every part'
