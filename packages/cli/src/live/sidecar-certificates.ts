import { X509Certificate } from 'node:crypto'

import { isRecord } from '@osm-ts/driver-api/toolkit'
import type { MeshMode, RunningInstance } from '@osm-ts/standalone'

import { httpGet } from '../state/http-get.js'
import { getFromInside, type InsideAnswer } from './inside-workload.js'
import type { SeenCertificate } from './live-view.js'

/** Gives the body of a page of a sidecar's administration interface, or undefined if there is none. */
export type GetPage = (path: string) => Promise<string | undefined>

/** In transparent mode the interface is where the wire rules put it, on the loopback of the workload's network namespace. */
const transparentAdmin = 'http://127.0.0.1:15000'

/** How the pages of an instance's sidecar are read. */
export function pageReader(
  { admin, sidecarPid }: Pick<RunningInstance, 'admin' | 'sidecarPid'>,
  mode: MeshMode,
  nodeProgram: string,
  signal: AbortSignal,
): GetPage {
  return async (path) => {
    if (mode === 'transparent') {
      if (sidecarPid === undefined) return undefined
      return getInside(sidecarPid, `${transparentAdmin}${path}`, nodeProgram, signal)
    }
    if (admin === undefined) return undefined
    const { status, body } = await httpGet(`http://${admin.address}:${admin.port}${path}`, { signal, timeoutMs: 2000 })
    return status === 200 ? body : undefined
  }
}

async function getInside(
  pid: number,
  url: string,
  nodeProgram: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  let page: string | undefined
  const onAnswer = ({ status, body }: InsideAnswer): void => {
    if (status === 200) page = body
  }
  await getFromInside({ pid, nodeProgram, url, times: 1 }, { signal, onAnswer })
  return page
}

/** Asks a sidecar which certificate it holds. Undefined while it holds none, or does not answer. */
export async function readSidecarCertificate(getPage: GetPage): Promise<SeenCertificate | undefined> {
  try {
    const page = await getPage('/certs')
    return page === undefined ? undefined : certificateIn(JSON.parse(page))
  } catch {
    // A sidecar that is starting or ending; the table says that nothing was seen.
    return undefined
  }
}

/**
 * The certificate with a URI among those that `/certs` lists: the service certificate, for the others bear no SPIFFE identity. Envoy tells names, in
 * fields of their own; Pipy, which cannot read URIs, shows the certificate itself.
 */
export function certificateIn(answer: unknown): SeenCertificate | undefined {
  const certificates = isRecord(answer) ? listOf(answer['certificates']) : []
  const uris = certificates
    .flatMap((entry) => listOf(entry['cert_chain']))
    .map(urisOf)
    .find((found) => found.length > 0)
  return uris === undefined ? undefined : { uris }
}

function urisOf({ pem, subject_alt_names: names }: Readonly<Record<string, unknown>>): readonly string[] {
  if (typeof pem === 'string') return certificateUris(new X509Certificate(pem))
  return listOf(names).flatMap(({ uri }) => (typeof uri === 'string' ? [uri] : []))
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** The URIs that a certificate bears. Node writes names as `DNS:a, URI:b`. */
export function certificateUris({ subjectAltName = '' }: X509Certificate): readonly string[] {
  return subjectAltName.split(', ').flatMap((name) => (name.startsWith('URI:') ? [name.slice('URI:'.length)] : []))
}
