import type { ProxyUUID } from '@osm-ts/driver-api'

/** Container of the sidecar, as OSM calls it. */
export const SIDECAR_CONTAINER = 'sidecar'
/** Init container that has connections redirected. */
export const INIT_CONTAINER = 'osm-init'
/** Volume of the bootstrap Secret: a pod that has it has been injected. */
export const BOOTSTRAP_VOLUME = 'sidecar-bootstrap-config-volume'

const SECRET_PREFIX = 'sidecar-bootstrap-config-'

/** Name of the Secret with the files of one sidecar. */
export function bootstrapSecretName(uuid: ProxyUUID): string {
  return `${SECRET_PREFIX}${uuid}`
}

/** The uuid in the name of such a Secret. */
export function uuidOfSecret(name: string): string | undefined {
  return name.startsWith(SECRET_PREFIX) ? name.slice(SECRET_PREFIX.length) : undefined
}
