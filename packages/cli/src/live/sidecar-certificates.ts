import { httpGet } from '../state/http-get.js'
import { isPlainRecord } from '../state/json.js'
import type { SeenCertificate } from './live-view.js'

/** Asks a sidecar's administration interface which certificate it holds. Undefined while it holds none, or does not answer. */
export async function readSidecarCertificate(
  admin: { readonly address: string; readonly port: number },
  signal: AbortSignal,
): Promise<SeenCertificate | undefined> {
  const host = admin.address.includes(':') ? `[${admin.address}]` : admin.address
  try {
    const { status, body } = await httpGet(`http://${host}:${admin.port}/certs`, { signal, timeoutMs: 2000 })
    return status === 200 ? certificateIn(JSON.parse(body)) : undefined
  } catch {
    // A sidecar that is starting or ending; the table says that nothing was seen.
    return undefined
  }
}

/** The certificate with a URI among those that Envoy's `/certs` lists: the service certificate, for the others bear no SPIFFE identity. */
export function certificateIn(answer: unknown): SeenCertificate | undefined {
  const certificates = isPlainRecord(answer) ? listOf(answer['certificates']) : []
  const uris = certificates
    .flatMap((entry) => listOf(entry['cert_chain']))
    .map((certificate) =>
      listOf(certificate['subject_alt_names']).flatMap(({ uri }) => (typeof uri === 'string' ? [uri] : [])),
    )
    .find((found) => found.length > 0)
  return uris === undefined ? undefined : { uris }
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isPlainRecord) : []
}
