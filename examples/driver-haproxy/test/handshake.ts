import { connect as connectTls } from 'node:tls'

/** Speaks HTTP to a served port; what comes back, or nothing if it is closed. */
export async function handshake(port: number, servername: string, cert?: string, key?: string): Promise<string> {
  return new Promise((resolve) => {
    const options = {
      host: '127.0.0.1',
      port,
      servername,
      rejectUnauthorized: false,
      ...(cert !== undefined && key !== undefined && { cert, key }),
    }
    const socket = connectTls(options, () => socket.write(`GET /open HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`))
    let got = ''
    socket.on('data', (chunk: Buffer) => (got += chunk.toString()))
    socket.on('error', () => undefined)
    socket.once('close', () => resolve(got))
  })
}
