import { createApp, listen } from './actor/servers.js'
import { answerCalls } from './actor/answer-calls.js'
import type { App } from './actor/protocol.js'

// The program of the pods of level 2. `serve <port>=<app> …` plays a workload; `calls` makes those that it reads.
const [command, ...ports] = process.argv.slice(2)
const { NAME = '', HOSTNAME = '', LINGER_MS = '0' } = process.env

switch (command) {
  case 'serve':
    await serve()
    break
  case 'calls':
    await answerCalls(process.stdin, process.stdout)
    break
  default:
    console.error(`expected serve or calls, not ${String(command)}`)
    process.exitCode = 2
}

async function serve(): Promise<void> {
  for (const each of ports) {
    const [port = '', app = ''] = each.split('=')
    await listen(createApp(app as App, { server: NAME, instance: HOSTNAME }), undefined, Number(port))
  }
  // Without a server nothing else would keep it running.
  const awake = setInterval(() => undefined, 1 << 30)
  await new Promise<void>((resolve) => void process.once('SIGTERM', () => resolve()))
  clearInterval(awake)
  // Callers learn of the end of a pod later than it does.
  setTimeout(() => process.exit(0), Number(LINGER_MS))
}
