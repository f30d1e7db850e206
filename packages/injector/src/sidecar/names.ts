/** Container of the sidecar, as OSM calls it. */
export const SIDECAR_CONTAINER = 'sidecar'
/** Init container that has connections redirected. */
export const INIT_CONTAINER = 'osm-init'
/** Volume of the bootstrap Secret: a pod that has it has been injected. */
export const BOOTSTRAP_VOLUME = 'sidecar-bootstrap-config-volume'
