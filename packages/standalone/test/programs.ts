/** Stands for a sidecar: answers readiness on a port, shows a file, and ends when it is told to. Its arguments are the port and the file. */
export const sidecarProgram = `import { readFileSync } from 'node:fs'
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
`

/** Stands for the controller process: says that it is ready, knows no problems, and ends with its standard input. */
export const controllerProgram = `import { readFileSync } from 'node:fs'
import http from 'node:http'

const config = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const server = http.createServer((_request, response) => response.end('{"problems":[]}'))
server.listen(config.ports.debug, '127.0.0.1', () => {
  const debugUrl = \`http://127.0.0.1:\${config.ports.debug}\`
  process.stdout.write(\`\${JSON.stringify({ ready: true, debugUrl, healthUrl: debugUrl, proxyPorts: {} })}\\n\`)
})
process.stdin.resume().once('close', () => process.exit(0))
process.once('SIGTERM', () => process.exit(0))
`

/** A workload that prints its environment as JSON, listens on PORT if it is told one, and stays. */
export const workloadProgram = `
const http = require('node:http')
console.log('environment ' + JSON.stringify(process.env))
if (process.env.PORT) http.createServer((request, response) => response.end('hello')).listen(process.env.PORT, process.env.HOST)
setInterval(() => undefined, 1000)
`
