/** What is read of a volume to find that with the files of a sidecar. */
export interface SidecarVolume {
  readonly name?: string
  readonly secret?: { readonly secretName?: string }
  readonly projected?: { readonly sources?: readonly SidecarVolumeSource[] }
}

/** Volume with the socket of the SPIFFE Workload API: a pod that has it has a sidecar that takes its service certificate there. */
export const workloadApiVolume = 'osm-workload-api'

/** A source of a projected volume, as far as it is read. */
export interface SidecarVolumeSource {
  readonly podCertificate?: { readonly signerName?: string }
  readonly downwardAPI?: {
    readonly items?: readonly { readonly path?: string; readonly fieldRef?: { readonly fieldPath?: string } }[]
  }
}

/** Domain of the annotations with the files of a sidecar that are no secret. */
const FILES = 'files.openservicemesh.io'
const FIELD_PATH = /^metadata\.annotations\['([0-9a-f-]{36})\.files\.openservicemesh\.io\/[^'/]+'\]$/
const SIGNER_DOMAIN = 'sidecar.openservicemesh.io'

/** The signer of the proxy certificates of a mesh, as podCertificate volumes name it. */
export function podSignerName(meshName: string): string {
  return `${SIGNER_DOMAIN}/${meshName}`
}

/**
 * Annotation of a pod with the text of one file of its sidecar. The uuid is part of it: labels and annotations of a pod can be changed, its volumes cannot, and so the
 * volume tells whose files it holds.
 */
export function sidecarFileAnnotation(uuid: string, path: string): string {
  return `${uuid}.${FILES}/${path}`
}

/** True for an annotation that {@link sidecarFileAnnotation} names, of any sidecar. */
export function isSidecarFileAnnotation(name: string): boolean {
  return name.includes(`.${FILES}/`)
}

/** The uuid of the sidecar whose files a volume holds: those of a Secret, or a certificate for the pod beside files of its annotations. */
export function uuidOfVolume({ secret, projected }: SidecarVolume): string | undefined {
  if (secret !== undefined) return uuidOfSecret(secret.secretName ?? '')
  const { sources = [] } = projected ?? {}
  if (!sources.some((source) => source.podCertificate?.signerName?.startsWith(`${SIGNER_DOMAIN}/`))) return undefined
  const uuids = new Set(
    sources.flatMap(({ downwardAPI }) =>
      (downwardAPI?.items ?? []).flatMap(({ fieldRef }) => FIELD_PATH.exec(fieldRef?.fieldPath ?? '')?.[1] ?? []),
    ),
  )
  // A volume with files of two sidecars is that of none.
  return uuids.size === 1 ? [...uuids][0] : undefined
}

const SECRET_PREFIX = 'sidecar-bootstrap-config-'

/** Name of the Secret with the files of one sidecar. */
export function bootstrapSecretName(uuid: string): string {
  return `${SECRET_PREFIX}${uuid}`
}

/** The uuid in the name of such a Secret. */
export function uuidOfSecret(name: string): string | undefined {
  return name.startsWith(SECRET_PREFIX) ? name.slice(SECRET_PREFIX.length) : undefined
}
