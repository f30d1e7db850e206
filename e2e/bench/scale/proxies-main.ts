import { createSecureContext, type SecureContext } from 'node:tls'

import { backoffMs } from '@osm-ts/driver-api/toolkit'

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

/** As Envoy, which waits for up to twice 500 ms first, and for 30 s at most. */
const RETRY = { firstMs: 250, lastMs: 30_000 }
const OPENED_AT_ONCE = 16

const references = new ReferenceReader()
const proxies = new Map<number, SimulatedProxy>()
const configuredAt = new Map<number, bigint>()
/** Proxies whose answers are kept, until somebody takes them. */
const recording = new Set<number>()
const recorded = new Map<number, Map<string, Uint8Array[]>>()
const waiting = new Set<Waiting>()
const errors: string[] = []
const contexts = new Map<number, { readonly roots: string; readonly chain: string; readonly context: SecureContext }>()
/** Times that this process was told to connect, or to disconnect. */
let attempts = 0
let lastAt = 0n
let awaitConfigured: { readonly id: number; readonly count: number } | undefined

const report = (message: ProxiesReport): void => {
  if (process.connected) process.send?.(message)
}

async function connect({ server, proxies: list, record, retries = 0 }: Connect): Promise<void> {
  configuredAt.clear()
  for (const index of record ?? []) recording.add(index)
  errors.length = 0
  attempts += 1
  const attempt = attempts
  for (const [n, proxy] of list.entries()) {
    // A connection whose first message waits until all others are opened takes the place of one that has something to say.
    if (n % OPENED_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve))
    if (attempt !== attempts) return
    open({ server, prepared: proxy, context: contextOf(server, proxy) }, retries)
  }
}

/** A proxy has its key parsed before it connects; here one process would parse all of them whenever they reconnect. */
function contextOf({ roots }: Connect['server'], { index, chain, privateKey }: PreparedProxy): SecureContext {
  const known = contexts.get(index)
  if (known?.roots === roots && known.chain === chain) return known.context
  const context = createSecureContext({ ca: roots, cert: chain, key: privateKey })
  contexts.set(index, { roots, chain, context })
  return context
}

interface Opening {
  readonly server: Connect['server']
  readonly prepared: PreparedProxy
  readonly context: SecureContext
}

/**
 * @param retries - how often a connection that ends before it is configured is created again
 * @param failures - how often it has ended
 */
function open(opening: Opening, retries: number, failures = 0): void {
  const { server, prepared, context } = opening
  const { index, nodeId } = prepared
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
      if (failures === retries || configuredAt.has(index)) {
        errors.push(`proxy ${index}: ${error.message}`)
        return
      }
      setTimeout(
        () => {
          // One that has been replaced or told to end since is no one's any more.
          if (proxies.get(index) === proxy) open(opening, retries, failures + 1)
        },
        backoffMs(failures + 1, RETRY, Math.random),
      )
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
      void connect(command)
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
      attempts += 1
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
