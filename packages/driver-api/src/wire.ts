/**
 * Constants of the protocol between sidecars. Every class must use them, so that classes can be mixed.
 */

/** ALPN protocol that a sidecar offers to other sidecars. It marks mesh traffic; servers do not select it. */
export const MESH_ALPN = 'osm'

/** Path that a called proxy answers itself, with 200, while `activeHealthChecks` of the mesh part is true. */
export const HEALTH_CHECK_PATH = '/healthz/osm'

/** Request header (value `1`) that marks a health check; a request to {@link HEALTH_CHECK_PATH} without it goes to the workload. The name is OSM's. */
export const HEALTH_CHECK_HEADER = 'x-osm-envoy-healthcheck'
