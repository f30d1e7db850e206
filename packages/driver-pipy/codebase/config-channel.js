// The configuration, by long poll over mutual TLS. The revision in a question says what was applied; a refusal says why not.

import { apply } from './apply.js'
import { state } from './state.js'

var WAIT_AFTER_ERROR_SECONDS = 1

/**
 * Asks for configurations for ever.
 *
 * @param settings - `{ host, serverName, path, certificate, key, roots }`: where to ask, whom, and the names of files with PEM
 */
export function startChannel(settings) {
  var agent = new http.Agent(settings.host, {
    tls: {
      certificate: {
        cert: new crypto.CertificateChain(os.read(settings.certificate)),
        key: new crypto.PrivateKey(os.read(settings.key)),
      },
      trusted: [new crypto.Certificate(os.read(settings.roots))],
      sni: settings.serverName,
      // Pipy checks no names itself.
      verify: (ok, certificate) => ok && certificate.subjectAltNames.includes(settings.serverName),
    },
  })
  ask(agent, settings, '')
}

function ask(agent, settings, refusal) {
  var revision = state.world ? state.world.revision : ''
  agent
    .request('GET', settings.path + '?rev=' + URL.encodeComponent(revision) + refusal)
    .then((answer) => {
      var status = answer.head.status
      if (status === 204) return ask(agent, settings, '')
      if (status !== 200) return later(agent, settings)
      return ask(agent, settings, take(answer))
    })
    .catch(() => later(agent, settings))
}

function later(agent, settings) {
  new Timeout(WAIT_AFTER_ERROR_SECONDS).wait().then(() => ask(agent, settings, ''))
}

// Applies a configuration. Gives what the next question says if that fails; the one before stays in force.
function take(answer) {
  var offered = answer.head.headers['osm-revision'] || ''
  try {
    apply(JSON.decode(answer.body))
    return ''
  } catch (error) {
    console.error('configuration ' + offered + ' refused: ' + error.message)
    return '&refused=' + URL.encodeComponent(offered) + '&error=' + URL.encodeComponent('' + error.message)
  }
}
