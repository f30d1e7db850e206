// The frame that all servers share.
import http from 'node:http'
import { readAll } from './http.mjs'
import { stopSignal } from './stop.mjs'

const drainLimitMs = 2000

/**
 * A server that answers with JSON, and always with the name of who answers: the mesh may have chosen among several.
 *
 * `routes` maps a method and a path, such as `GET /books-bought`, to a function from the body to the answer. What it throws is the fault of
 * the request.
 */
export function httpServer(identity, routes) {
  const respond = async (request, response) => {
    const send = (status, body) => {
      const headers = { 'Content-Type': 'application/json', Identity: identity }
      response.writeHead(status, 'booksBought' in body ? { ...headers, Booksbought: body.booksBought } : headers)
      response.end(`${JSON.stringify({ identity, ...body })}\n`)
    }
    const route = routes[`${request.method} ${request.url}`]
    if (route === undefined) send(404, { error: 'no such page' })
    else {
      try {
        send(200, await route(await readAll(request)))
      } catch (error) {
        send(400, { error: error.message })
      }
    }
  }
  return http.createServer((request, response) => void respond(request, response))
}

/**
 * Listens on HOST (127.0.0.1) and PORT until the program is told to stop, then answers what is under way and ends.
 *
 * Behind a sidecar on the same machine 127.0.0.1 is enough, and keeps others out.
 */
export function listen(server, { name, port }) {
  const host = process.env.HOST ?? '127.0.0.1'
  const connections = new Set()
  server.on('connection', (socket) => {
    connections.add(socket.once('close', () => connections.delete(socket)))
  })
  server.listen({ host, port: Number(process.env.PORT ?? port) }, () => {
    const listening = `${host}:${server.address().port}`
    process.stdout.write(`${JSON.stringify({ t: Date.now(), server: name, listening })}\n`)
  })
  stopSignal().addEventListener('abort', () => {
    server.close()
    // Not a reason to stay alive: when all is answered earlier, the program ends earlier.
    setTimeout(() => connections.forEach((socket) => socket.destroy()), drainLimitMs).unref()
  })
}
