import { AdsClient } from './ads-client.js'
import type { ClientsCommand, ClientsReport } from './clients.js'

// A process of simulated proxies. It is told by its parent whom to connect to, and reports each acknowledgement with the time of the machine's monotonic clock,
// which is the same in every process.
const clients: AdsClient[] = []
const report = (message: ClientsReport): void => {
  // After the parent has hung up there is no one to tell.
  if (process.connected) process.send?.(message)
}

process.on('message', (command: ClientsCommand) => {
  if (command.type === 'close') {
    for (const client of clients) client.close()
    process.disconnect()
    return
  }
  command.proxies.forEach((proxy, index) => {
    clients.push(
      new AdsClient({
        ...command.server,
        ...proxy,
        onAcknowledged: (type, names, octets) => {
          report({
            type: 'acknowledged',
            client: index,
            at: process.hrtime.bigint().toString(),
            of: type,
            names,
            octets,
          })
        },
        onError: (error) => {
          report({ type: 'error', client: index, message: error.message })
        },
      }),
    )
  })
})
