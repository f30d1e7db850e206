/**
 * Makes a registry of this machine reachable at the same loopback address in the network namespace of a node:
 * `nsenter --net=<namespace> node forward-registry.mjs <port> <socket>`. A unix socket does not belong to a network namespace.
 */
import { connect, createServer } from 'node:net'

const [port, socket = ''] = process.argv.slice(2)
const server = createServer((incoming) => {
  const outgoing = connect(socket)
  incoming.pipe(outgoing).pipe(incoming)
  incoming.on('error', () => outgoing.destroy())
  outgoing.on('error', () => incoming.destroy())
})
server.listen(Number(port), '127.0.0.1', () => process.stdout.write('ready\n'))
// The end of its parent is its own end.
process.stdin.on('end', () => process.exit(0)).resume()
