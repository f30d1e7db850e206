import { createServer } from 'node:net'

/** Whether a loopback port can be listened on. */
export type PortCheck = (port: number) => Promise<boolean>

/** Tries it. */
export const isPortFree: PortCheck = (port) =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)))
  })
