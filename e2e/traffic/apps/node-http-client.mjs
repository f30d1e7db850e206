// Does the exchanges of the HTTP corpus with clients of Node: node-http-client.mjs http|http2|undici
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:http2'
import { json } from 'node:stream/consumers'
import { Client } from 'undici'
import { digestOfAnswer } from './exchanges.mjs'

const [, , flavour] = process.argv
const TIMEOUT_MS = 30_000

/** The body of a request, in pieces as they are sent. */
function pieces({ bytes, framing }) {
  if (framing === 'length') return [Buffer.alloc(bytes, 'b')]
  const third = Math.ceil(bytes / 3)
  return [third, third, bytes - 2 * third].map((length) => Buffer.alloc(length, 'b'))
}

const pairs = (raw) =>
  raw.flatMap((name, i) => (i % 2 === 0 ? [[name.toString('latin1'), raw[i + 1].toString('latin1')]] : []))

function byHttp({ host, address, port }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (exchange) =>
    new Promise((resolve) => {
      const { method, path, headers = [], body, byAddress, expectsContinue } = exchange
      const dialled = byAddress ? address : host
      const own = Object.fromEntries([['Host', exchange.host ?? `${dialled}:${port}`], ...headers])
      if (body?.framing === 'length') own['Content-Length'] = body.bytes
      if (body?.framing === 'chunked') own['Transfer-Encoding'] = 'chunked'
      if (expectsContinue) own.Expect = '100-continue'
      const request = httpRequest({ host: dialled, port, method, path, agent, headers: own, timeout: TIMEOUT_MS })
      let continued = false
      request.on('response', (response) => {
        const chunks = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('error', (error) => resolve({ error: error.code }))
        response.on('end', () => {
          const { statusCode: status, statusMessage: reason, httpVersion: version, rawHeaders, rawTrailers } = response
          resolve({
            status,
            reason,
            version,
            headers: pairs(rawHeaders),
            trailers: pairs(rawTrailers),
            ...digestOfAnswer(Buffer.concat(chunks)),
            reused: request.reusedSocket,
            ...(expectsContinue && { continued }),
          })
          if (exchange.holdsBody) request.destroy()
        })
      })
      request.on('timeout', () => request.destroy(Object.assign(new Error(), { code: 'TIMEOUT' })))
      request.on('error', (error) => resolve({ error: error.code }))
      const send = () => {
        for (const piece of body === undefined ? [] : pieces(body)) request.write(piece)
        request.end()
      }
      // The rest of the body waits for an answer that comes before it.
      if (exchange.holdsBody) {
        request.write(Buffer.alloc(1_000, 'b'))
        return
      }
      if (!expectsContinue) return send()
      request.on('continue', () => {
        continued = true
        send()
      })
      request.flushHeaders()
    })
  return { ask, close: () => agent.destroy() }
}

function byUndici({ host, address, port }) {
  const clients = new Map()
  const clientOf = (dialled) => {
    const found =
      clients.get(dialled) ??
      new Client(`http://${dialled}:${port}`, { pipelining: 4, maxHeaderSize: 131_072, headersTimeout: TIMEOUT_MS })
    clients.set(dialled, found)
    return found
  }
  const ask = async ({ method, path, headers = [], body, byAddress, host: foreign }) => {
    const own = [...headers, ...(foreign === undefined ? [] : [['Host', foreign]])]
    if (body?.framing === 'length') own.push(['Content-Length', String(body.bytes)])
    const sent =
      body === undefined
        ? undefined
        : body.framing === 'length'
          ? pieces(body)[0]
          : (async function* () {
              yield* pieces(body)
            })()
    try {
      const answer = await clientOf(byAddress ? address : host).request({
        method,
        path,
        headers: own.flat(),
        body: sent,
        responseHeaders: 'raw',
      })
      const chunks = []
      for await (const chunk of answer.body) chunks.push(chunk)
      return {
        status: answer.statusCode,
        headers: pairs(answer.headers),
        trailers: Object.entries(answer.trailers),
        ...digestOfAnswer(Buffer.concat(chunks)),
      }
    } catch (error) {
      return { error: error.code ?? error.message }
    }
  }
  const closeAll = async () => {
    await Promise.all([...clients.values()].map((client) => client.destroy()))
  }
  return { ask, close: closeAll, pipelines: true }
}

function byHttp2({ host, address, port }) {
  const sessions = new Map()
  const sessionOf = (dialled) => {
    const found = sessions.get(dialled)
    if (found !== undefined && !found.destroyed && !found.closed) return found
    const session = connect(`http://${dialled}:${port}`, { settings: { maxHeaderListSize: 131_072 } })
    session.on('error', () => undefined)
    sessions.set(dialled, session)
    return session
  }
  const ask = ({ method, path, headers = [], body, byAddress, host: foreign, expectsContinue, holdsBody }) =>
    new Promise((resolve) => {
      const dialled = byAddress ? address : host
      const own = Object.fromEntries(
        headers.filter(([name]) => name !== 'Connection').map(([name, value]) => [name.toLowerCase(), value]),
      )
      if (body?.framing === 'length') own['content-length'] = body.bytes
      if (expectsContinue) own.expect = '100-continue'
      const stream = sessionOf(dialled).request(
        { ':method': method, ':path': path, ':authority': foreign ?? `${dialled}:${port}`, ...own },
        { endStream: body === undefined },
      )
      stream.setTimeout(TIMEOUT_MS, () => stream.destroy())
      const seen = {
        status: 0,
        version: '2.0',
        headers: [],
        trailers: [],
        ...(expectsContinue && { continued: false }),
      }
      const chunks = []
      const fields = (flat) =>
        Object.entries(flat).flatMap(([name, value]) =>
          name.startsWith(':') ? [] : [value].flat().map((each) => [name, String(each)]),
        )
      stream.on('response', (flat) => Object.assign(seen, { status: flat[':status'], headers: fields(flat) }))
      stream.on('trailers', (flat) => Object.assign(seen, { trailers: fields(flat) }))
      stream.on('data', (chunk) => chunks.push(chunk))
      stream.on('error', (error) => resolve({ error: error.code }))
      stream.on('close', () =>
        resolve(seen.status === 0 ? { error: 'closed' } : { ...seen, ...digestOfAnswer(Buffer.concat(chunks)) }),
      )
      const send = () => {
        for (const piece of body === undefined ? [] : pieces(body)) stream.write(piece)
        stream.end()
      }
      if (holdsBody) {
        stream.write(Buffer.alloc(1_000, 'b'))
        stream.on('end', () => stream.close())
        return
      }
      if (!expectsContinue) return send()
      stream.on('continue', () => {
        seen.continued = true
        send()
      })
    })
  return {
    ask,
    close: () => {
      for (const session of sessions.values()) session.destroy()
    },
  }
}

const flavours = { http: byHttp, http2: byHttp2, undici: byUndici }

const { targets } = await json(process.stdin)
const seen = {}
for (const target of targets) {
  const client = flavours[flavour](target)
  const own = {}
  for (const exchange of target.exchanges) {
    const { name, times = 1 } = exchange
    const all = []
    // A client that pipelines sends them all at once.
    const asked = client.pipelines ? Array.from({ length: times }, () => client.ask(exchange)) : []
    for (let i = 0; i < times; i++) all.push(await (asked[i] ?? client.ask(exchange)))
    own[name] = times === 1 ? all[0] : all
  }
  seen[target.server] = own
  await client.close()
}
// Connections that a server keeps would keep this program, too.
process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0))
