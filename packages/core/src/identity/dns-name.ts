/** Length of a DNS label (RFC 1035 §2.3.4) and of a Kubernetes namespace. */
const MAX_LABEL = 63
/** Length of a Kubernetes object name. */
const MAX_SUBDOMAIN = 253

const LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/

/** True for a DNS-1123 label: what Kubernetes accepts as the name of a namespace. */
export function isDnsLabel(text: string): boolean {
  return text.length <= MAX_LABEL && LABEL.test(text)
}

/**
 * True for a DNS-1123 subdomain as Kubernetes defines it: labels joined by dots, 253 characters in all.
 *
 * Kubernetes does not bound the single labels of an object name, so neither does this; {@link isDnsDomain} does.
 */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= MAX_SUBDOMAIN && text.split('.').every((label) => LABEL.test(label))
}

/**
 * True for a lower-case DNS name that resolvers accept: a DNS-1123 subdomain whose labels have at most 63 characters.
 */
export function isDnsDomain(text: string): boolean {
  return text.length <= MAX_SUBDOMAIN && text.split('.').every(isDnsLabel)
}

/** A text for an error message: quoted, escaped and cut, since it may come from a stranger's certificate. */
export function quoted(text: string): string {
  const most = 120
  return JSON.stringify(text.length > most ? `${text.slice(0, most)}…` : text)
}
