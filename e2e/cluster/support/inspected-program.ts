import type { SharedCluster } from './shared-cluster.js'

const nodePath = '/nodejs/bin/node'
/** A snapshot takes seconds; no load makes it two minutes. */
const timeoutMs = 120_000

/** Runs beside the program, in its container. Its first argument is a command, its second an expression. */
const inspector = `
const [command, expression] = process.argv.slice(1)
// Opens the inspector of Node.js, on loopback.
process.kill(1, 'SIGUSR1')
let target
while (target === undefined) {
  target = await fetch('http://127.0.0.1:9229/json/list').then((answer) => answer.json(), () => undefined)
  if (target === undefined) await new Promise((resolve) => setTimeout(resolve, 50))
}
const socket = new WebSocket(target[0].webSocketDebuggerUrl)
await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject })
let last = 0
const waiting = new Map()
socket.onmessage = ({ data }) => {
  const { id, method, params, result, error } = JSON.parse(data)
  if (method === 'HeapProfiler.addHeapSnapshotChunk') process.stdout.write(params.chunk)
  waiting.get(id)?.(error === undefined ? result : Promise.reject(new Error(error.message)))
}
const send = (method, params = {}) => new Promise((resolve) => {
  last += 1
  waiting.set(last, resolve)
  socket.send(JSON.stringify({ id: last, method, params }))
})
if (command === 'heap') {
  await send('HeapProfiler.enable')
  await send('HeapProfiler.takeHeapSnapshot')
} else {
  const { result, exceptionDetails } = await send('Runtime.evaluate', { expression, returnByValue: true })
  if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
  process.stdout.write(String(result.value))
}
socket.close()
`

/** Keeps what streams of HTTP/2 servers send, before TLS encrypts it. */
const recordStreams = `(() => {
  const { Duplex } = process.getBuiltinModule('node:stream')
  globalThis.osmSent = []
  for (const name of ['write', 'end']) {
    const original = Duplex.prototype[name]
    Duplex.prototype[name] = function (chunk, ...others) {
      const isSent = this.constructor.name === 'ServerHttp2Stream' && (typeof chunk === 'string' || chunk instanceof Uint8Array)
      if (isSent) globalThis.osmSent.push(Buffer.from(chunk))
      return original.call(this, chunk, ...others)
    }
  }
})()`

/** Texts of any length are whole in a snapshot. */
const wholeTexts = `process.getBuiltinModule('node:v8').setFlagsFromString('--heap-snapshot-string-limit=10000000')`

/** A program of the control plane, looked into by the inspector of Node.js. */
export class InspectedProgram {
  readonly #cluster: SharedCluster
  readonly #exec: readonly string[]

  /** @param target - as kubectl takes it: `deploy/osm-controller` */
  constructor(cluster: SharedCluster, namespace: string, target: string) {
    this.#cluster = cluster
    this.#exec = ['exec', target, '-n', namespace, '--', nodePath, '--experimental-websocket', '--no-warnings']
  }

  /** From now on what it sends is kept. */
  async record(): Promise<void> {
    await this.#inspect('evaluate', recordStreams)
  }

  /** What it has sent since then. */
  async sent(): Promise<Buffer> {
    return Buffer.from(await this.#inspect('evaluate', `Buffer.concat(osmSent.splice(0)).toString('base64')`), 'base64')
  }

  /** Puts a text in the middle of a longer one in its heap, for those who search it. */
  async plant(text: string): Promise<void> {
    const longer = JSON.stringify(`${'.'.repeat(4_096)}${text}${'.'.repeat(4_096)}`)
    await this.#inspect('evaluate', `globalThis.osmPlanted = ${longer}`)
  }

  /** Everything that its JavaScript can reach. */
  async heap(): Promise<Buffer> {
    await this.#inspect('evaluate', wholeTexts)
    return Buffer.from(await this.#inspect('heap'))
  }

  /** What its debug server answers, page by page. */
  async debugPages(): Promise<string> {
    const script = `
const server = 'http://localhost:9092'
const read = async (path) => (await fetch(server + path)).text()
const pages = (await read('/debug')).trim().split('\\n')
for (const page of pages) console.log(page, await read(page))`
    return this.#run(['--input-type=module', '-e', script])
  }

  #inspect(command: 'heap' | 'evaluate', expression = ''): Promise<string> {
    return this.#run(['--input-type=module', '-e', inspector, command, expression])
  }

  #run(args: readonly string[]): Promise<string> {
    return this.#cluster.kubectl.run([...this.#exec, ...args], { timeoutMs })
  }
}
