// Answers requests on PORT with a head that ordinary servers are seen to send, by the name that the path gives, and else with the request as
// it came and `(end)`.
import { createServer } from 'node:net'

const { PORT = '8080' } = process.env
const END = '\r\n\r\n'
const BODY = 'hello'
const CHUNKS = '5\r\nhello\r\n0\r\n\r\n'
const length = `Content-Length: 5${END}${BODY}`
const ok = 'HTTP/1.1 200 OK\r\n'
const answers = {
  'length and chunks': `${ok}Transfer-Encoding: chunked\r\nContent-Length: 5${END}${CHUNKS}`,
  'chunks in capitals': `${ok}Transfer-Encoding: Chunked${END}${CHUNKS}`,
  'chunk with extension': `${ok}Transfer-Encoding: chunked${END}5;a=b\r\nhello\r\n0\r\n\r\n`,
  'chunk size with spaces': `${ok}Transfer-Encoding: chunked${END}5   \r\nhello\r\n0\r\n\r\n`,
  'chunks twice': `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked${END}${CHUNKS}`,
  'gzip and chunks': `${ok}Transfer-Encoding: gzip, chunked${END}${CHUNKS}`,
  'identity with length': `${ok}Transfer-Encoding: identity\r\n${length}`,
  'equal lengths': `${ok}Content-Length: 5\r\n${length}`,
  'list of equal lengths': `${ok}Content-Length: 5, 5${END}${BODY}`,
  'no reason': `HTTP/1.1 200\r\n${length}`,
  'line feeds alone': `HTTP/1.1 200 OK\nContent-Length: 5\n\n${BODY}`,
  'status 218': `HTTP/1.1 218 Fine\r\n${length}`,
  'status 999': `HTTP/1.1 999 Denied\r\n${length}`,
  'bytes of Latin-1': `${ok}X-Name: Gr\xfc\xdfe\r\n${length}`,
  'empty header': `${ok}X-Empty:\r\n${length}`,
  'folded header': `${ok}X-Folded: a\r\n b\r\n${length}`,
  'header twice': `${ok}Content-Type: text/plain\r\nContent-Type: text/plain\r\n${length}`,
  'space before a colon': `${ok}X-Space : a\r\n${length}`,
  'space in a name': `${ok}X Space: a\r\n${length}`,
  'no colon': `${ok}X-Nothing\r\n${length}`,
  '204 with length 0': `HTTP/1.1 204 No Content\r\nContent-Length: 0${END}`,
  '204 with chunks': `HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked${END}0\r\n\r\n`,
  '304 with a length': `HTTP/1.1 304 Not Modified\r\nContent-Length: 5${END}`,
  'to the end of HTTP 1.0': `HTTP/1.0 200 OK\r\n\r\n${BODY}`,
  'to the end of HTTP 1.1': `${ok}Connection: close${END}${BODY}`,
  '401 with two challenges': `HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate\r\nWWW-Authenticate: NTLM\r\n${length}`,
}
const ending = new Set(['to the end of HTTP 1.0', 'to the end of HTTP 1.1'])

createServer((socket) => {
  let received = ''
  socket.on('error', () => undefined)
  socket.on('data', (data) => {
    received += data.toString('latin1')
    const end = received.indexOf(END)
    if (end === -1) return
    const head = received.slice(0, end)
    const bytes = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
    const isChunked = /^transfer-encoding: *chunked/im.test(head)
    const rest = received.slice(end + END.length)
    if (isChunked ? !/0\r\n(.+\r\n)*\r\n$/.test(rest) : rest.length < bytes) return
    received = ''
    const name = decodeURIComponent(/^GET \/answer\/(\S+)/.exec(head)?.[1] ?? '')
    const echo = `${head}${END}${rest}(end)`
    const answer = answers[name] ?? `${ok}Content-Length: ${Buffer.byteLength(echo, 'latin1')}${END}${echo}`
    socket.write(Buffer.from(answer, 'latin1'))
    if (ending.has(name)) socket.end()
  })
}).listen(Number(PORT))
