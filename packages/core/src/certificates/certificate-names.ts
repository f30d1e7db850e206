import type { X509Certificate } from 'node:crypto'

/** Subject alternative names of a certificate, in its order. */
export interface AlternativeNames {
  readonly dns: readonly string[]
  readonly uris: readonly string[]
  readonly addresses: readonly string[]
}

/**
 * Reads the alternative names of a certificate; or the first name of a form that no mesh gives.
 *
 * Node gives them as one text, such as `DNS:a, URI:b, IP Address:c`, and puts quotes around any name that could be taken
 * for something else. No name of ours has a character that needs them.
 */
export function readAlternativeNames(certificate: X509Certificate): AlternativeNames | { readonly stranger: string } {
  const names = { DNS: [] as string[], URI: [] as string[], 'IP Address': [] as string[] }
  for (const entry of certificate.subjectAltName?.split(', ') ?? []) {
    const [, type, name] = /^(DNS|URI|IP Address):([-a-zA-Z0-9.:/]+)$/.exec(entry) ?? []
    if (type === undefined || name === undefined) return { stranger: entry }
    names[type as keyof typeof names].push(name) // the expression has three alternatives
  }
  return { dns: names.DNS, uris: names.URI, addresses: names['IP Address'] }
}

/**
 * Node writes one attribute of the subject per line, with control characters escaped; an empty subject is undefined,
 * whatever the types say.
 */
export function commonNamesOf(certificate: X509Certificate): readonly string[] {
  const subject = certificate.subject as string | undefined
  const lines = subject?.split('\n') ?? []
  return lines.filter((line) => line.startsWith('CN=')).map((line) => line.slice('CN='.length))
}
