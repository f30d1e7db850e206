// Serves what pages of a browser ask for: browser-server.mjs <port>, or with a folder of keys: HTTP/2 over TLS.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { WebSocketServer } from 'ws'

const [, , port, keys] = process.argv
const images = Array.from({ length: 12 }, (_, i) => `/image/${i}.svg`)
const page = `<!doctype html><title>loading</title><link rel="stylesheet" href="/style.css"><script src="/script.js" defer></script>
${images.map((path) => `<img src="${path}">`).join('')}
<form method="post" action="/echo"><input name="text" value="Grüße &amp; more"><button>send</button></form>`
const packed = gzipSync('packed '.repeat(1_000))
/** What pages request later: how often something was seen, by the name that a page gave it. */
const counts = {}
const count = (name) => (counts[name] = (counts[name] ?? 0) + 1)

async function echo(request, response) {
  const hash = createHash('sha256')
  let length = 0
  let pieces = 0
  for await (const chunk of request) {
    hash.update(chunk)
    length += chunk.length
    pieces += 1
  }
  const raw = request.rawHeaders
  const headers = raw.flatMap((name, i) => (i % 2 === 0 && !name.startsWith(':') ? [[name, raw[i + 1]]] : []))
  const { method, url, httpVersion: version } = request
  const inPieces = request.headers['x-pieces'] === undefined ? {} : { inPieces: pieces > 1 }
  const seen = { method, url, version, headers, bytes: length, sha256: hash.digest('hex'), ...inPieces }
  response.writeHead(200, { 'Content-Type': 'application/json', 'Set-Cookie': 'echoed=1; Path=/echo' })
  response.end(JSON.stringify({ seen }))
}

/** The parts of a form, without the boundary that a browser makes up. */
async function parts(request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const [, boundary] = /boundary=(.+)$/.exec(request.headers['content-type'] ?? '') ?? []
  const own = Buffer.concat(chunks).toString('latin1').split(`--${boundary}`).slice(1, -1)
  const lines = own.map((part) => [part.split('\r\n')[1], createHash('sha256').update(part).digest('hex')])
  response.end(JSON.stringify(lines))
}

async function events(request, response) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  const first = Number(request.headers['last-event-id'] ?? -1) + 1
  response.write('retry: 50\n\n')
  for (let i = first; i < first + 3; i++) {
    response.write(`id: ${i}\ndata: event ${i}\n\n`)
    await sleep(20)
  }
  response.end()
}

async function stream(response, id) {
  const PIECES = 10
  let written = 0
  let isOpen = true
  response.on('close', () => {
    isOpen = false
    if (written < PIECES) count(id)
  })
  response.writeHead(200, { 'Content-Type': 'application/octet-stream' })
  for (; written < PIECES && isOpen; written++) {
    response.write(Buffer.alloc(20_000, written))
    await sleep(50)
  }
  response.end()
}

const allowed = (origin) => ({
  'Access-Control-Allow-Origin': origin,
  'Access-Control-Allow-Credentials': 'true',
  'Access-Control-Expose-Headers': 'X-Exposed',
  Vary: 'Origin',
})

async function answer(request, response) {
  const [path, query] = request.url.split('?')
  const { origin } = request.headers
  if (path === '/shared' || path === '/shared/echo') {
    for (const [name, value] of Object.entries(origin === undefined ? {} : allowed(origin)))
      response.setHeader(name, value)
    if (request.method === 'OPTIONS') {
      response.writeHead(204, {
        'Access-Control-Allow-Methods': 'GET, PUT',
        'Access-Control-Allow-Headers': request.headers['access-control-request-headers'] ?? '',
        'Access-Control-Max-Age': '600',
      })
      return response.end()
    }
    response.setHeader('X-Exposed', 'seen')
    return path === '/shared' ? response.end('shared') : echo(request, response)
  }
  if (path.startsWith('/echo')) return echo(request, response)
  if (path === '/parts') return parts(request, response)
  if (path === '/beacon') {
    request.resume()
    count(query)
    return response.writeHead(204).end()
  }
  request.resume()
  if (path === '/counts') return response.end(JSON.stringify(counts[query] ?? 0))
  if (path === '/events') return events(request, response)
  if (path === '/stream') return stream(response, query)
  if (path === '/page') {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Set-Cookie': 'page=1' })
    return response.end(page)
  }
  if (path === '/style.css') return response.writeHead(200, { 'Content-Type': 'text/css' }).end('body { color: red }')
  if (path === '/script.js')
    return response.writeHead(200, { 'Content-Type': 'text/javascript' }).end('document.title = "loaded"')
  if (path.startsWith('/image/')) {
    response.writeHead(200, { 'Content-Type': 'image/svg+xml', 'Cache-Control': 'max-age=60' })
    return response.end('<svg xmlns="http://www.w3.org/2000/svg" width="3" height="3"/>')
  }
  if (path === '/cookies') {
    const own = ['plain=1; Path=/', 'hidden=2; HttpOnly', 'strict=3; SameSite=Strict', 'gone=4; Max-Age=0', 'q="a b"']
    return response.writeHead(200, { 'Set-Cookie': own }).end('cookies')
  }
  if (path === '/gzip') {
    response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' })
    return response.end(packed)
  }
  if (path === '/cached') {
    const isKnown = request.headers['if-none-match'] === '"one"'
    count(`${isKnown ? 'revalidated' : 'sent'}-${query}`)
    response.writeHead(isKnown ? 304 : 200, { ETag: '"one"', 'Cache-Control': 'max-age=600' })
    return response.end(isKnown ? undefined : 'cached')
  }
  if (path === '/moved') return response.writeHead(307, { Location: '/echo/moved' }).end()
  return response.writeHead(path === '/' ? 200 : 404, { 'Content-Type': 'text/html' }).end('<title>corpus</title>')
}

const options = () => ({ key: readFileSync(join(keys, 'tls.key')), cert: readFileSync(join(keys, 'tls.crt')) })
const server = keys === undefined ? createServer(answer) : createSecureServer(options(), answer)
if (keys === undefined)
  new WebSocketServer({ server, perMessageDeflate: true }).on('connection', (socket, { headers }) => {
    socket.send(JSON.stringify({ origin: headers.origin, cookie: headers.cookie ?? '' }))
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
  })
server.listen(Number(port), '0.0.0.0')
