import type { X509Certificate } from 'node:crypto'

/** The URIs that a certificate bears. Node writes names as `DNS:a, URI:b`. */
export function certificateUris({ subjectAltName = '' }: X509Certificate): readonly string[] {
  return subjectAltName.split(', ').flatMap((name) => (name.startsWith('URI:') ? [name.slice('URI:'.length)] : []))
}
