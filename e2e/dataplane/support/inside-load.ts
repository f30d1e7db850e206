import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** An answer other than 200, and when it came. */
interface LoadFailure {
  /** The error code, or the status and what the sidecar says of it. */
  readonly answer: string
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
}

/** What became of the requests of a load. */
export interface LoadCount {
  readonly sent: number
  /** One for each answer, the first twenty. */
  readonly failures: readonly LoadFailure[]
  /** Requests by status of the answer, or by error code. */
  readonly outcomes: Readonly<Record<string, number>>
}

/** Requests that continue until they are told to end. */
export interface InsideLoad {
  readonly stop: () => Promise<LoadCount>
}

/** Between two requests: the machine is not to be kept from everything else. */
const PAUSE_MS = 5

const program = `
const { Agent, request } = require('node:http')
const [url, kept, fresh] = process.argv.slice(1)
const agent = new Agent({ keepAlive: true, maxSockets: Number(kept) })
let ends = false
let begun = false
let sent = 0
const failures = new Map()
const outcomes = {}
const fail = (answer) => {
  const lastMs = Math.round(performance.now())
  const known = failures.get(answer)
  failures.set(answer, { answer, count: (known?.count ?? 0) + 1, firstMs: known?.firstMs ?? lastMs, lastMs })
}
process.stdin.on('end', () => { ends = true }).resume()
const ask = (connections) => new Promise((resolve) => {
  const asked = request(url, { agent: connections, timeout: 20000 }, (response) => {
    let body = ''
    response.setEncoding('utf8').on('data', (text) => { if (body.length < 200) body += text })
    response.on('error', (error) => resolve(error.code ?? error.message))
    response.on('end', () => resolve(response.statusCode === 200 ? 200 : response.statusCode + ' ' + body))
  })
  asked.on('timeout', () => asked.destroy(new Error('no answer'))).on('error', (error) => resolve(error.code ?? error.message)).end()
})
const follow = async (connections) => {
  while (!ends) {
    sent += 1
    const answer = await ask(connections)
    const outcome = String(answer).split(' ')[0]
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    if (answer !== 200) fail(String(answer))
    if (!begun) console.log('begun')
    begun = true
    await new Promise((resolve) => setTimeout(resolve, ${String(PAUSE_MS)}))
  }
}
const many = (count, connections) => Array.from({ length: Number(count) }, () => follow(connections))
Promise.all([...many(kept, agent), ...many(fresh, false)]).then(() => {
  agent.destroy()
  console.log(JSON.stringify({ sent, failures: [...failures.values()].slice(0, 20), outcomes }))
})`

/** Requests from a network namespace, one after the other: some on connections that are kept, some each on one of its own. */
export async function loadInside(
  namespace: string,
  url: string,
  { kept, fresh }: { readonly kept: number; readonly fresh: number },
): Promise<InsideLoad> {
  const words = [process.execPath, '-e', program, url, String(kept), String(fresh)]
  const [file, ...args] = ['ip', 'netns', 'exec', namespace, ...words] as const
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  const ended = once(child, 'close')
  // Whatever comes first: without an answer there is nothing to count.
  await Promise.race([once(child.stdout, 'data'), ended])
  return {
    stop: async () => {
      child.stdin.end()
      await ended
      return JSON.parse(said.trim().split('\n').at(-1) ?? '') as LoadCount
    },
  }
}
