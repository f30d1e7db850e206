// How long connections are kept that no one uses.

/** After how much silence on both ways a connection ends that is in use, in seconds; 0 for never. Pipy has 60 where nothing is said. */
export function silenceSeconds(config) {
  return config.idleMs > 0 ? config.idleMs / 1000 : 0
}

/**
 * To a workload, in seconds. Servers close idle connections after as little as two (gunicorn; Node and Apache after five), and what is on its way then is lost.
 * Pipy looks once a second.
 */
export var WORKLOAD_IDLE_SECONDS = 1

/** To a server outside of the mesh, in seconds, which is further away. Pipy takes the connection next that has been idle longest. */
export var OUTSIDE_IDLE_SECONDS = 3

var MESH_IDLE_SECONDS = 30

/** To another sidecar, in seconds: half of what a sidecar waits itself before it closes a connection. */
export function meshIdleSeconds(config) {
  return config.idleMs > 0 ? Math.min(MESH_IDLE_SECONDS, config.idleMs / 2000) : MESH_IDLE_SECONDS
}
