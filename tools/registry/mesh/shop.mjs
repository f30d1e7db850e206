import { createServer } from 'node:http'

const server = createServer((_request, response) => {
  response.writeHead(200, { identity: process.env.HOSTNAME })
  response.end('welcome\n')
})
server.listen(Number(process.env.PORT), process.env.HOST)
process.once('SIGTERM', () => process.exit(0))
