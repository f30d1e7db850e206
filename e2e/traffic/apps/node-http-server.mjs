// Answers the exchanges of the HTTP corpus: node-http-server.mjs http1|http2 <port>
import { createHash } from 'node:crypto'
import { createServer as createHttp1 } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import { gzipSync } from 'node:zlib'

const [, , version, port] = process.argv
const text = 'hello from the corpus\n'.repeat(20)
const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, i) => i % 251))
const packed = gzipSync(text)

async function answer(request, response) {
  const path = request.url.split('?')[0]
  const [, first, second] = path.split('/')
  const plain = { 'Content-Type': 'text/plain', 'X-Mixed-Case': 'Value' }
  if (first === 'early') {
    response.writeHead(413, { ...plain, 'Content-Length': 9 })
    response.end('too large')
    request.resume()
    return
  }
  if (first === 'echo') {
    const hash = createHash('sha256')
    let length = 0
    for await (const chunk of request) {
      hash.update(chunk)
      length += chunk.length
    }
    const raw = request.rawHeaders
    const headers = raw.flatMap((name, i) => (i % 2 === 0 && !name.startsWith(':') ? [[name, raw[i + 1]]] : []))
    const { method, url, httpVersion } = request
    const host = request.headers[':authority']
    const seen = {
      method,
      url,
      version: httpVersion,
      headers,
      authority: host,
      bytes: length,
      sha256: hash.digest('hex'),
    }
    const body = JSON.stringify({ seen })
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    response.end(body)
    return
  }
  request.resume()
  if (first === 'status') {
    const code = Number(second)
    const body = code === 204 || code === 304 ? '' : `status ${code}`
    response.writeHead(code, { ...plain, ...(code === 304 ? { ETag: '"corpus"' } : {}) })
    response.end(body)
  } else if (first === 'redirect') {
    response.writeHead(302, { Location: '/text' }).end()
  } else if (first === 'gzip') {
    response.writeHead(200, { ...plain, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' }).end(packed)
  } else if (first === 'bytes') {
    const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? []
    const part = from === undefined ? bytes : bytes.subarray(Number(from), Number(to) + 1)
    const range = from === undefined ? {} : { 'Content-Range': `bytes ${from}-${to}/${bytes.length}` }
    response
      .writeHead(from === undefined ? 200 : 206, {
        'Content-Type': 'application/octet-stream',
        'Accept-Ranges': 'bytes',
        ...range,
      })
      .end(part)
  } else if (first === 'cookies') {
    const got = request.headers.cookie ?? ''
    response.setHeader('Set-Cookie', ['a=1; Path=/', 'b=2; HttpOnly', 'c=3; Expires=Wed, 21 Oct 2065 07:28:00 GMT'])
    response.writeHead(200, plain).end(got)
  } else if (first === 'large-headers') {
    for (let i = 0; i < 40; i++) response.setHeader(`X-Large-${i}`, 'v'.repeat(1_000))
    response.writeHead(200, plain).end('large')
  } else if (first === 'close') {
    if (version === 'http1') response.setHeader('Connection', 'close')
    response.writeHead(200, plain).end('closed')
  } else if (first === 'events') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
    for (let i = 0; i < 5; i++) {
      response.write(`id: ${i}\ndata: event ${i}\n\n`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    response.end()
  } else if (first === 'trailers') {
    response.writeHead(200, { ...plain, Trailer: 'X-Checksum' })
    response.write('with trailers')
    response.addTrailers({ 'X-Checksum': 'abc' })
    response.end()
  } else if (first === 'slow') {
    setTimeout(() => response.writeHead(200, plain).end('slow'), 300)
  } else {
    response
      .writeHead(200, { ...plain, ETag: '"corpus"', 'Content-Length': text.length })
      .end(request.method === 'HEAD' ? undefined : text)
  }
}

const settings = { maxHeaderSize: 131_072, maxHeaderListPairs: 1_000, settings: { maxHeaderListSize: 131_072 } }
const server = version === 'http2' ? createHttp2(settings, answer) : createHttp1(settings, answer)
server.listen(Number(port), '0.0.0.0')
