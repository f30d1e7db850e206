// Pages of the administration interface that show the configuration. What is secret is in its member `credentials`, and nowhere else.

/** All that the sidecar does, as JSON. */
export function configDump(config) {
  var shown = {}
  Object.keys(config || {}).forEach((name) => {
    if (name !== 'credentials') shown[name] = config[name]
  })
  // What has been decided before is none of it; see regex.js and runtime.js.
  return JSON.stringify(shown, (key, value) => (key === 'memo' || key === 'decisions' ? undefined : value))
}

/** A line `<name>::<address>` for each address that the sidecar listens on. */
export function listenerLines(config) {
  var lines = []
  if (!config) return ''
  Object.keys(config.listen).forEach((name) => void lines.push(name + '::' + config.listen[name]))
  config.served.forEach((port) => port.listen && void lines.push(port.id + '::' + port.listen))
  config.called.forEach((service) => service.listen && void lines.push(service.id + '::' + service.listen))
  return textOf(lines)
}

/** A line `<upstream>::<address>::weight::<weight>` for each endpoint that calls may go to. */
export function clusterLines(config) {
  var lines = []
  if (!config) return ''
  Object.keys(config.upstreams).forEach((name) => {
    var addresses = config.upstreams[name].addresses
    if (addresses.kind !== 'endpoints') lines.push(name + '::' + addresses.kind)
    else
      addresses.priorities.forEach((endpoints) =>
        endpoints.forEach(
          (endpoint) => void lines.push(name + '::' + endpoint.address + '::weight::' + endpoint.weight),
        ),
      )
  })
  return textOf(lines)
}

function textOf(lines) {
  return lines
    .sort()
    .map((line) => line + '\n')
    .join('')
}
