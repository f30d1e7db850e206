import { createSecureContext } from 'node:tls'

import type { PreparedProxy, ProxiesCommand, ProxiesReport, RecordedAnswers } from './proxies.js'
import { SimulatedProxy } from './proxy.js'
import { ReferenceReader } from '../references.js'

// A process of simulated proxies. It is told by its parent whom to connect to and what to wait for; times are those of the monotonic clock of the machine.

type Connect = Extract<ProxiesCommand, { type: 'connect' }>
type Await = Extract<ProxiesCommand, { type: 'await' }>

/** Something that the parent waits for. */
interface Waiting {
  readonly command: Await
  readonly times: Map<number, bigint>
  /** The message of the first. */
  message?: Uint8Array
}

const references = new ReferenceReader()
const proxies = new Map<number, SimulatedProxy>()
const configuredAt = new Map<number, bigint>()
/** Proxies whose answers are kept, until somebody takes them. */
const recording = new Set<number>()
const recorded = new Map<number, Map<string, Uint8Array[]>>()
const waiting = new Set<Waiting>()
const errors: string[] = []
let lastAt = 0n
let awaitConfigured: { readonly id: number; readonly count: number } | undefined

const report = (message: ProxiesReport): void => {
  if (process.connected) process.send?.(message)
}

function connect({ server, proxies: list, record, retries = 0 }: Connect): void {
  configuredAt.clear()
  for (const index of record ?? []) recording.add(index)
  errors.length = 0
  for (const proxy of list) open(server, proxy, retries)
}

/** @param retries - how often a connection that ends before it is configured is created again */
function open(server: Connect['server'], prepared: PreparedProxy, retries: number): void {
  const { index, nodeId, chain, privateKey } = prepared
  const context = createSecureContext({ ca: server.roots, cert: chain, key: privateKey })
  const proxy = new SimulatedProxy({
    port: server.port,
    serverName: server.serverName,
    context,
    nodeId,
    references,
    onConfigured: () => {
      if (!configuredAt.has(index)) configuredAt.set(index, process.hrtime.bigint())
      tellConfigured()
    },
    onAcknowledged: (typeUrl, { resources }, frame) => {
      lastAt = process.hrtime.bigint()
      if (recording.has(index)) keep(index, typeUrl, frame)
      for (const each of waiting) {
        if (each.command.typeUrl !== typeUrl || each.times.has(index)) continue
        if (!resources.some(({ name }) => name === each.command.name)) continue
        each.times.set(index, lastAt)
        each.message ??= Uint8Array.from(frame)
        tellReached(each)
      }
    },
    onError: (error) => {
      proxy.close()
      if (retries === 0 || configuredAt.has(index)) errors.push(`proxy ${index}: ${error.message}`)
      // One that has been replaced or told to end since is no one's any more.
      else if (proxies.get(index) === proxy) open(server, prepared, retries - 1)
    },
  })
  proxies.set(index, proxy)
}

function keep(index: number, typeUrl: string, frame: Buffer): void {
  const answers = recorded.get(index) ?? new Map<string, Uint8Array[]>()
  recorded.set(index, answers)
  answers.set(typeUrl, [...(answers.get(typeUrl) ?? []), Uint8Array.from(frame)])
}

function tellConfigured(): void {
  if (awaitConfigured === undefined || configuredAt.size < awaitConfigured.count) return
  const times = [...configuredAt.values()]
  report({ type: 'times', id: awaitConfigured.id, times, errors: errors.slice(0, 5) })
  awaitConfigured = undefined
}

function tellReached(each: Waiting): void {
  if (each.times.size < each.command.count) return
  waiting.delete(each)
  const { command, times, message } = each
  report({ type: 'times', id: command.id, times: [...times.values()], errors: errors.slice(0, 5), message })
}

process.on('message', (command: ProxiesCommand) => {
  switch (command.type) {
    case 'connect':
      connect(command)
      report({ type: 'done', id: command.id })
      break
    case 'configured':
      awaitConfigured = command
      tellConfigured()
      break
    case 'await':
      waiting.add({ command, times: new Map() })
      break
    case 'counters': {
      const counters = [...proxies].map(
        ([index, proxy]) => [index, proxy.octets, proxy.responses, proxy.isConfigured()] as const,
      )
      const awaited = [...proxies]
        .filter(([, proxy]) => !proxy.isConfigured())
        .slice(0, 3)
        .map(([index, proxy]) => `proxy ${index} waits for ${proxy.awaited.join(', ')}`)
      report({ type: 'counters', awaited, id: command.id, counters, lastAt, errors: errors.slice(0, 5) })
      break
    }
    case 'recorded': {
      const answers: RecordedAnswers = [...recorded].map(([index, types]) => [index, [...types]] as const)
      recorded.clear()
      recording.clear()
      report({ type: 'recorded', id: command.id, answers })
      break
    }
    case 'disconnect':
      for (const proxy of proxies.values()) proxy.close()
      proxies.clear()
      report({ type: 'done', id: command.id })
      break
    case 'close':
      for (const proxy of proxies.values()) proxy.close()
      process.disconnect()
  }
})
report({ type: 'started' })
// A parent that is killed says nothing.
process.once('disconnect', () => process.exit(0))
