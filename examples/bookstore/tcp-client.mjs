// Says a line to tcp-echo and waits to hear it again. TCP has no status codes: 200 stands for "it returned", 0 for anything else.
import net from 'node:net'
import { repeat } from './lib/client.mjs'
import { createReporter } from './lib/report.mjs'
import { tcpEndpoint } from './lib/tcp.mjs'

const service = { name: 'tcp-echo', namespace: 'tcp-demo', port: 9000 }
const report = createReporter('tcp-client')
const state = { lines: 0 }

await repeat((signal) => {
  state.lines += 1
  const line = `line ${state.lines}\n`
  return report({ target: service.name, path: `tcp:${service.port}`, signal }, async (limit) => {
    const heard = await exchange(line, limit)
    if (heard === '') throw new Error('closed without an answer')
    if (heard !== line) throw new Error('something else came back')
    return { status: 200, server: service.name }
  })
})

async function exchange(line, signal) {
  const socket = net.connect(tcpEndpoint(service))
  const stop = () => socket.destroy(signal.reason)
  signal.addEventListener('abort', stop)
  socket.setEncoding('utf8').write(line)
  let heard = ''
  try {
    for await (const text of socket) {
      heard += String(text)
      if (heard.endsWith('\n')) break
    }
    return heard
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
