import { Duplex } from 'node:stream'
import { connect } from 'node:tls'

/**
 * The first message of a TLS connection.
 *
 * @param serverName - empty for none
 */
export async function clientHello(serverName: string): Promise<Uint8Array> {
  const socket = new Duplex({ read: () => undefined })
  const sent = new Promise<Uint8Array>((resolve) => {
    // What TLS writes goes nowhere else.
    socket._write = (chunk: Buffer) => resolve(chunk)
  })
  const client = connect({ socket, ...(serverName === '' ? {} : { servername: serverName }) })
  client.on('error', () => undefined)
  const message = await sent
  client.destroy()
  return message
}
