// Asks NEXT for the path that it is asked for, if there is one, and answers with the status of that. Passes on the headers that hold the context of a trace,
// as applications have to; with `?forget` it does not.
import { createServer, request as httpRequest } from 'node:http'

const context = ['traceparent', 'tracestate', 'x-request-id', 'b3', 'x-b3-traceid', 'x-b3-spanid', 'x-b3-parentspanid']
const passedOn = new Set([...context, 'x-b3-sampled', 'x-b3-flags'])
const next = process.env.NEXT
const proxy = new URL(process.env.HTTP_PROXY ?? 'http://127.0.0.1')

const server = createServer((request, response) => {
  request.resume()
  if (next === undefined) {
    response.writeHead(200).end()
    return
  }
  const forgets = (request.url ?? '').endsWith('?forget')
  const headers = Object.entries(request.headers).filter(([name]) => passedOn.has(name) && !forgets)
  const call = httpRequest(
    {
      host: proxy.hostname,
      port: proxy.port,
      path: `${next}${request.url}`,
      headers: { ...Object.fromEntries(headers), host: new URL(next).host },
      agent: false,
    },
    (answer) => {
      answer.resume()
      answer.on('end', () => response.writeHead(answer.statusCode ?? 502).end())
    },
  )
  call.on('error', () => response.writeHead(502).end())
  call.end()
})
server.listen(Number(process.env.PORT), process.env.HOST ?? '127.0.0.1', () =>
  console.log(JSON.stringify({ listening: true })),
)
process.on('SIGTERM', () => {
  server.close(() => process.exit(0))
  server.closeIdleConnections()
  setTimeout(() => process.exit(0), 1000).unref()
})
