// Where to dial for a TCP service.

/**
 * The address of a service: that of a local port of the sidecar where the mesh gives one by environment, such as
 * OSM_TCP_TCP_ECHO_TCP_DEMO_9000=127.0.0.1:20001, and otherwise the name of the service.
 *
 * @param {{ name: string, namespace: string, port: number }} service
 */
export function tcpEndpoint({ name, namespace, port }) {
  const variable = `OSM_TCP_${name}_${namespace}_${port}`.toUpperCase().replace(/[^A-Z0-9]/g, '_')
  const given = process.env[variable] ?? `${name}.${namespace}:${port}`
  const at = given.lastIndexOf(':')
  return { host: given.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(given.slice(at + 1)) }
}
