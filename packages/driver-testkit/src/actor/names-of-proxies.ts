import { connect, type Socket } from 'node:net'

/** Makes a connection for a proxy, and calls back once it is there. */
export type Dial = (host: string, port: number, whenConnected: () => void) => Socket

/** Connects to a host that a proxy is told: `local.test` is the loopback, `<name>.test` is `<name>.outside`, and others are what they are. */
export function connectTo(host: string, port: number, whenConnected: () => void): Socket {
  const real = host === 'local.test' ? '127.0.0.1' : host.replace(/\.test$/, '.outside')
  return connect({ host: real, port }, whenConnected)
}
