// The configuration, by long poll over mutual TLS. The revision in a question says what was applied; a refusal says why not.

import { apply } from './apply.js'
import { certificatesOf } from './certificates.js'
import { reportPlugins, startPluginReports } from './plugin-report.js'
import { state } from './state.js'

var WAIT_AFTER_ERROR_SECONDS = 1

/**
 * Requests configurations forever.
 *
 * @param settings - `{ host, serverName, path, certificate, key, roots }`: where to ask, whom, and the names of files with PEM
 */
export function startChannel(settings) {
  var channel = { settings, files: undefined, agent: undefined }
  startPluginReports(channel)
  ask(channel, '')
}

function ask(channel, refusal) {
  var settings = channel.settings
  var revision = state.runtime ? state.runtime.revision : ''
  refresh(channel)
  // What is answered may be for the key that the question is asked with, and for no other.
  var ownKey = channel.files[1]
  channel.agent
    .request('GET', settings.path + '?key=proxy&rev=' + URL.encodeComponent(revision) + unusable() + refusal)
    .then((answer) => {
      var status = answer.head.status
      if (status !== 200 && status !== 204) return later(channel)
      ask(channel, status === 204 ? '' : take(answer, ownKey))
      reportPlugins()
    })
    .catch(() => later(channel))
}

// Credentials of what is in force that cannot be used; what needs them is closed.
function unusable() {
  var keys = state.runtime ? state.runtime.further.unusable : []
  return keys.length > 0 ? '&unusable=' + URL.encodeComponent(keys.join(',')) : ''
}

function later(channel) {
  new Timeout(WAIT_AFTER_ERROR_SECONDS).wait().then(() => ask(channel, ''))
}

// Certificate, key and roots are replaced in place when they rotate. While they do not match, the previous ones stay in use.
function refresh(channel) {
  var settings = channel.settings
  try {
    var files = [settings.certificate, settings.key, settings.roots].map((name) => os.read(name).toString())
    if (channel.files && files.every((text, i) => text === channel.files[i])) return
    channel.agent = makeAgent(settings, files)
    channel.files = files
  } catch (error) {
    if (!channel.agent) throw error
    console.error('new certificates are not usable: ' + error.message)
  }
}

function makeAgent(settings, files) {
  return new http.Agent(settings.host, {
    tls: {
      certificate: { cert: new crypto.CertificateChain(files[0]), key: new crypto.PrivateKey(files[1]) },
      trusted: certificatesOf(files[2]),
      sni: settings.serverName,
      // Pipy checks no names itself.
      verify: (ok, certificate) => ok && certificate.subjectAltNames.includes(settings.serverName),
    },
  })
}

// Applies a configuration. Gives what the next question says if that fails; the one before stays in force.
function take(answer, ownKey) {
  var offered = answer.head.headers['osm-revision'] || ''
  try {
    apply(JSON.decode(answer.body), ownKey)
    return ''
  } catch (error) {
    console.error('configuration ' + offered + ' refused: ' + error.message)
    return '&refused=' + URL.encodeComponent(offered) + '&error=' + URL.encodeComponent('' + error.message)
  }
}
