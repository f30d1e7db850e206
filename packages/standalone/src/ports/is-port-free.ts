import { createServer } from 'node:net'

/** Whether a port can be listened on. */
export type PortCheck = (port: number) => Promise<boolean>

/** Tries it at all of the addresses. */
export function isPortFreeAt(addresses: readonly string[]): PortCheck {
  return async (port) => {
    for (const address of addresses) if (!(await isFree(address, port))) return false
    return true
  }
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
