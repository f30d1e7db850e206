// Sends requests through the sidecar of its pod, and looks at what that sidecar has been told. Does what messages say; see e2e/api/support/pod-load.ts.
import { Agent, request } from 'node:http'

const admin = 'http://127.0.0.1:15000'
const lookEveryMs = 25
const timeoutMs = 10_000

/** @type {{ running: boolean, workers: Promise<void>[], sent: number, answered: number, opened: number, served: Record<string, number>, failures: Record<string, number> }} */
const load = { running: false, workers: [], sent: 0, answered: 0, opened: 0, served: {}, failures: {} }

/**
 * @param {string} url
 * @param {Agent | false} agent
 * @returns {Promise<{ status: number, body: string, reused: boolean }>} status 0 means no answer, with the reason
 */
function ask(url, agent) {
  return new Promise((resolve) => {
    const call = request(url, { agent, timeout: timeoutMs }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (/** @type {string} */ text) => (body += text))
      response.on('error', fail)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, reused: call.reusedSocket }))
    })
    /** @param {Error & { code?: string }} error */
    const fail = (error) => resolve({ status: 0, body: error.code ?? error.message, reused: call.reusedSocket })
    call.on('timeout', () => call.destroy(new Error('no answer in time')))
    call.on('error', fail)
    call.end()
  })
}

/**
 * @param {string} url
 * @param {boolean} keeps
 */
async function work(url, keeps) {
  const agent = keeps && new Agent({ keepAlive: true, maxSockets: 1 })
  while (load.running) {
    load.sent += 1
    const { status, body, reused } = await ask(url, agent)
    if (keeps && !reused) load.opened += 1
    if (status === 200) {
      const { server, served } = JSON.parse(body)
      load.answered += 1
      load.served[server] = Math.max(served, load.served[server] ?? 0)
    } else {
      const what = `${status} ${body}`.trim()
      load.failures[what] = (load.failures[what] ?? 0) + 1
    }
  }
  if (agent) agent.destroy()
}

/** @param {string} text what a route of outbound requests is to contain */
async function knows(text) {
  const { status, body } = await ask(`${admin}/config_dump?resource=dynamic_route_configs`, false)
  if (status !== 200) return false
  const { configs = [] } = JSON.parse(body)
  return configs.some(
    (/** @type {{ route_config?: { name: string } }} */ { route_config: routes }) =>
      routes?.name.startsWith('rds-outbound') && JSON.stringify(routes).includes(text),
  )
}

/** @type {Record<string, (message: any) => Promise<object>>} */
const commands = {
  ask: async ({ url }) => ask(url, false),
  start: async (/** @type {{ url: string, kept: number, fresh: number }} */ { url, kept, fresh }) => {
    load.running = true
    load.workers = Array.from({ length: kept + fresh }, (_, index) => work(url, index < kept))
    return {}
  },
  count: async () => ({ answered: load.answered }),
  stop: async () => {
    load.running = false
    await Promise.all(load.workers)
    const { sent, answered, opened, served, failures } = load
    return { sent, answered, opened, served, failures }
  },
  watch: async ({ text }) => {
    while (!(await knows(text))) await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
    return { at: String(process.hrtime.bigint()) }
  },
}

/** @param {{ id: number, command: string }} message */
async function obey(message) {
  process.send?.({ id: message.id, ...(await commands[message.command](message)) })
}

process.on('message', (/** @type {{ id: number, command: string }} */ message) => {
  void obey(message)
})
process.on('disconnect', () => process.exit(0))
