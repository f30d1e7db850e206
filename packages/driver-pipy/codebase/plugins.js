// Scripts of users, called with each request or connection of a chain. What a script throws, or one that does not come to an end, costs that request or
// connection and nothing else.

import { countPluginFailure } from './metrics.js'

// Calls of functions and turns of loops that a script may take for one request.
var STEPS = 20000

// What was loaded, by path: `{ scripts, failures, error }`, without scripts where that failed. Pipy never forgets a module.
var loaded = {}

// What is called when a plugin fails.
var listener = { failed: () => undefined }

/** Loads the plugins of a configuration. Gives those of each chain, in their order. */
export function loadPlugins(list) {
  var chains = { 'inbound-tcp': [], 'inbound-http': [], 'outbound-tcp': [], 'outbound-http': [] }
  list.forEach((plugin) => {
    var entry = { name: plugin.name, module: load(plugin), configs: plugin.configs }
    plugin.chains.forEach((chain) => void chains[chain].push(entry))
  })
  return chains
}

function load(plugin) {
  if (loaded[plugin.path] !== undefined) return loaded[plugin.path]
  var module = { scripts: null, failures: 0, error: '' }
  loaded[plugin.path] = module
  if (plugin.script !== undefined) {
    try {
      pipy.patch(plugin.path, plugin.script)
      module.scripts = pipy.import(plugin.path)
    } catch (error) {
      failed({ name: plugin.name, module }, error)
    }
  }
  return module
}

/** Calls back whenever a plugin fails. */
export function onPluginFailure(callback) {
  listener.failed = callback
}

/** What is wrong with the plugins of these chains: a list of `{ plugin, isLoaded, failures, error }`. Those that were held back are known elsewhere. */
export function pluginFaults(chains) {
  var faults = {}
  Object.keys(chains).forEach((chain) =>
    chains[chain].forEach((plugin) => {
      var module = plugin.module
      if (module.failures === 0) return
      faults[plugin.name] = {
        plugin: plugin.name,
        isLoaded: Boolean(module.scripts),
        failures: module.failures,
        error: module.error,
      }
    }),
  )
  return Object.values(faults)
}

/**
 * Asks `request` of the plugins of a chain. Gives the first answer `{ status, headers, body }`, or undefined if the request continues.
 *
 * @param service - id of a part of it: `<namespace>/<name>|…`
 * @param request - `{ method, path, authority, headers, caller }`; changes of headers hold
 */
export function askPlugins(plugins, service, request) {
  var answer = undefined
  plugins.forEach((plugin) => {
    if (answer) return
    var result = run(plugin, 'request', service, request)
    answer = result.isFailed ? { status: 500, body: 'plugin failed' } : answerOf(plugin, result.value)
  })
  return answer
}

/** Shows the plugins of a chain the head of an answer, the last plugin first. Changes of its headers hold. */
export function showPlugins(plugins, service, head) {
  if (plugins.length === 0) return
  if (!head.headers) head.headers = {}
  plugins
    .slice()
    .reverse()
    .forEach((plugin) => void run(plugin, 'response', service, { status: head.status, headers: head.headers }))
}

/** True if no plugin of a chain refuses a connection, `{ source, caller }`, by giving false. */
export function letIn(plugins, service, connection) {
  return plugins.every((plugin) => {
    var result = run(plugin, 'connection', service, connection)
    return !result.isFailed && result.value !== false
  })
}

function run(plugin, hook, service, about) {
  var scripts = plugin.module.scripts
  if (!scripts) return { isFailed: true }
  var script = scripts[hook]
  if (!script) return { isFailed: false }
  scripts.__osmBudget(STEPS)
  try {
    return { isFailed: false, value: script(about, plugin.configs[service.split('|')[0]]) }
  } catch (error) {
    failed(plugin, error)
    return { isFailed: true }
  }
}

function answerOf(plugin, value) {
  if (value === undefined || value === null) return undefined
  if (!(value.status >= 200 && value.status <= 599)) {
    failed(plugin, { message: 'gives something that is no answer' })
    return { status: 500, body: 'plugin failed' }
  }
  var headers = Object.entries(value.headers || {}).map((entry) => [entry[0].toLowerCase(), '' + entry[1]])
  return { status: value.status, headers, body: '' + (value.body || '') }
}

function failed(plugin, error) {
  var module = plugin.module
  module.failures = module.failures + 1
  // As much of it as anybody reads.
  module.error = ('' + error.message).substring(0, 500)
  countPluginFailure(plugin.name)
  console.error('plugin ' + plugin.name + ': ' + error.message)
  listener.failed()
}
