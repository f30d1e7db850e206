// Scripts of users, called with each request or connection of a chain. What a script throws, or one that does not come to an end, costs that request or
// connection and nothing else.

import { countPluginFailure } from './metrics.js'

// Calls of functions and turns of loops that a script may take for one request.
var STEPS = 20000

// What was loaded, by path; null where that failed. Pipy never forgets a module.
var loaded = {}

/** Loads the plugins of a configuration. Gives those of each chain, in their order. */
export function loadPlugins(list) {
  var chains = { 'inbound-tcp': [], 'inbound-http': [], 'outbound-tcp': [], 'outbound-http': [] }
  list.forEach((plugin) => {
    var entry = { name: plugin.name, scripts: load(plugin), configs: plugin.configs }
    plugin.chains.forEach((chain) => void chains[chain].push(entry))
  })
  return chains
}

function load(plugin) {
  if (loaded[plugin.path] !== undefined) return loaded[plugin.path]
  var scripts = null
  if (plugin.script !== undefined) {
    try {
      pipy.patch(plugin.path, plugin.script)
      scripts = pipy.import(plugin.path)
    } catch (error) {
      failed(plugin.name, error)
    }
  }
  loaded[plugin.path] = scripts
  return scripts
}

/**
 * Asks `request` of the plugins of a chain. Gives the first answer `{ status, headers, body }`, or undefined if the request goes on.
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
  if (!plugin.scripts) return { isFailed: true }
  var script = plugin.scripts[hook]
  if (!script) return { isFailed: false }
  plugin.scripts.__osmBudget(STEPS)
  try {
    return { isFailed: false, value: script(about, plugin.configs[service.split('|')[0]]) }
  } catch (error) {
    failed(plugin.name, error)
    return { isFailed: true }
  }
}

function answerOf(plugin, value) {
  if (value === undefined || value === null) return undefined
  if (!(value.status >= 200 && value.status <= 599)) {
    failed(plugin.name, { message: 'gives something that is no answer' })
    return { status: 500, body: 'plugin failed' }
  }
  var headers = Object.entries(value.headers || {}).map((entry) => [entry[0].toLowerCase(), '' + entry[1]])
  return { status: value.status, headers, body: '' + (value.body || '') }
}

function failed(name, error) {
  countPluginFailure(name)
  console.error('plugin ' + name + ': ' + error.message)
}
