// How long connections are kept that no one uses.

/**
 * To a workload, or to a server outside of the mesh, in seconds. Servers close idle connections after as little as five (Node, Apache), and what is on its way then
 * is lost; Pipy takes the connection next that has been idle longest. It looks once a second.
 */
export var PLAIN_IDLE_SECONDS = 3

// What other sidecars keep is up to their meshes, which say a minute unless they say less.
var MESH_IDLE_SECONDS = 30

/** To another sidecar, in seconds: half of what a sidecar waits itself before it closes a connection. */
export function meshIdleSeconds(config) {
  return config.idleMs > 0 ? Math.min(MESH_IDLE_SECONDS, config.idleMs / 2000) : MESH_IDLE_SECONDS
}
