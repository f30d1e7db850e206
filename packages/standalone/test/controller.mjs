// Stands for the controller process: says that it is ready, serves no problems, and ends with its standard input.
import { readFileSync } from 'node:fs'
import http from 'node:http'

const config = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const server = http.createServer((_request, response) => response.end('{"problems":[]}'))
server.listen(config.ports.debug, '127.0.0.1', () => {
  const debugUrl = `http://127.0.0.1:${config.ports.debug}`
  process.stdout.write(`${JSON.stringify({ ready: true, debugUrl, healthUrl: debugUrl, proxyPorts: {} })}\n`)
})
process.stdin.resume().once('close', () => process.exit(0))
process.once('SIGTERM', () => process.exit(0))
