// Stands for a sidecar: answers readiness on a port, and ends when it is told to. Its arguments: port, a file that it reads and shows.
import { readFileSync } from 'node:fs'
import http from 'node:http'

const [port, file] = process.argv.slice(2)
http
  .createServer((request, response) => {
    if (request.url === '/file') response.end(readFileSync(file))
    else response.end('ok')
    if (request.url === '/quit') setImmediate(() => process.exit(0))
    if (request.url === '/crash') setImmediate(() => process.exit(7))
  })
  .listen(Number(port), '127.0.0.1')
