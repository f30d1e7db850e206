// Tells the control plane which plugins fail: soon after they do, and again while they do, in case it has forgotten.

import { onPluginFailure, pluginFaults } from './plugins.js'
import { state } from './state.js'

var WAIT_SECONDS = 1

// `said` is what the control plane has heard last; nothing is said for as long as nothing fails.
var report = { channel: null, isWaiting: false, said: '[]' }

/** @param channel - has an `agent` to the control plane, which may become another one */
export function startPluginReports(channel) {
  report.channel = channel
  onPluginFailure(reportPlugins)
}

/** Tells it in a moment: of what fails meanwhile there is one report. */
export function reportPlugins() {
  if (report.isWaiting || !report.channel) return
  report.isWaiting = true
  new Timeout(WAIT_SECONDS).wait().then(() => {
    report.isWaiting = false
    send()
  })
}

function send() {
  var text = JSON.stringify(state.runtime ? pluginFaults(state.runtime.plugins) : [])
  if (text === '[]' && report.said === '[]') return
  report.channel.agent
    .request('POST', '/plugins', { 'content-type': 'application/json' }, text)
    .then((answer) => {
      // What was not taken is said again with the next answer of the channel.
      report.said = answer.head.status === 204 ? text : ''
    })
    .catch(() => {
      report.said = ''
    })
}
