// The local DNS proxy: names of the mesh are answered here, all others by the servers of the configuration, whatever those say.

import { answerOf, failureOf, findName, isAnswerTo, readQuestion, SERVER_FAILURE, serversIn } from './dns-message.js'
import { splitAuthority } from './hosts.js'
import { state } from './state.js'

var RESOLVER = '/etc/resolv.conf'

// Questions that wait for servers, at most; others are told that it did not work.
var MOST_WAITING = 500
// Time that a server has. Resolvers of workloads wait for five seconds.
var SERVER_SECONDS = 2
// How long one that has said nothing is asked after the others.
var AVOID_MS = 30000

// `silent` has servers by when they may be asked first again.
var load = { waiting: 0, turn: 0, silent: {} }
var $answers

/** Answers the questions of one socket, in their order. */
export var serveDNS = pipeline(($) =>
  $.onStart(() => void ($answers = []))
    // All are asked at once: replacing waits for one after the other.
    .handleData((data) => void $answers.push(data.size > 0 ? answer(data.toArray()) : []))
    .replaceData(() => {
      var first = $answers[0]
      $answers = $answers.slice(1)
      return first
    }),
)

// Gives data, a promise for it, or nothing where no one has asked.
function answer(asked) {
  var question = readQuestion(asked)
  var runtime = state.runtime
  if (!question) return []
  if (question.error) return new Data(failureOf(asked, question, question.error))
  if (!runtime || !runtime.names) return new Data(failureOf(asked, question, SERVER_FAILURE))
  var dns = runtime.config.dns
  var record = findName(runtime.names, question.name)
  if (record) {
    load.turn = (load.turn + 1) % 1000000
    return new Data(answerOf(asked, question, record.addresses, dns.ttlSeconds, load.turn))
  }
  if (load.waiting >= MOST_WAITING) return new Data(failureOf(asked, question, SERVER_FAILURE))
  load.waiting = load.waiting + 1
  return askAll(asked, question, inOrder(runtime.nameservers), 0).then((bytes) => {
    load.waiting = load.waiting - 1
    return new Data(bytes || failureOf(asked, question, SERVER_FAILURE))
  })
}

/** Servers to ask: those of the configuration, or else those that the system of the workload knows; never this proxy itself. */
export function nameserversOf(config) {
  if (config.dns.servers.length > 0) return config.dns.servers
  var own = splitAuthority(config.listen.dns || '').host
  return serversIn(os.read(RESOLVER).toString())
    .filter((server) => server !== own)
    .map((server) => (server.includes(':') ? '[' + server + ']:53' : server + ':53'))
}

// In the order of the configuration; those that have been silent come last.
function inOrder(servers) {
  var now = Date.now()
  var isSilent = (server) => load.silent[server] > now
  return servers.filter((server) => !isSilent(server)).concat(servers.filter(isSilent))
}

// Asks one server after the other.
function askAll(asked, question, servers, index) {
  if (index >= servers.length) return new Promise((resolve) => resolve(undefined))
  var server = servers[index]
  return askServer(asked, question, server).then((bytes) => {
    if (bytes) {
      delete load.silent[server]
      return bytes
    }
    load.silent[server] = Date.now() + AVOID_MS
    return askAll(asked, question, servers, index + 1)
  })
}

// Each question has its own socket, and so a port that no one can guess who wants to answer in a server's place.
function askServer(asked, question, server) {
  return new Promise((resolve) => {
    var clock = new Timeout(SERVER_SECONDS)
    var call = { data: new Data(asked), server, outbound: undefined, isOver: false, take: undefined, end: undefined }
    call.end = (bytes) => {
      if (call.isOver) return
      call.isOver = true
      clock.cancel()
      // Not at once: this may stand on an event of that very socket.
      new Timeout(0).wait().then(() => call.outbound && call.outbound.close())
      resolve(bytes)
    }
    call.take = (bytes) => {
      if (isAnswerTo(bytes, asked, question)) call.end(bytes)
    }
    clock.wait().then(
      () => call.end(undefined),
      () => {},
    )
    ask.spawn(call)
  })
}

var $call

var ask = pipeline(($) =>
  $.onStart((call) => {
    $call = call
    return call.data
  })
    .connect(
      () => $call.server,
      () => {
        var call = $call
        return { protocol: 'udp', idleTimeout: 2 * SERVER_SECONDS, onState: (outbound) => note(call, outbound) }
      },
    )
    .handleData((data) => data.size > 0 && $call.take(data.toArray()))
    .handleStreamEnd(() => $call.end(undefined)),
)

function note(call, outbound) {
  call.outbound = outbound
  if (outbound.state === 'closed') call.end(undefined)
}
