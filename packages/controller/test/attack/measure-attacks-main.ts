import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

import { waitsFor } from '../../../../tools/testing/attack/waits.mjs'
import { type AttackedServers, peersOf, type ServerFigures } from './attacked-servers.js'
import { type Attack, type AttackFigures, attacks, holds, type PeerName } from './attacks.js'

// Runs the attacks one after the other, each on servers of its own, and writes their figures as a line of JSON. Only this process and its children open
// connections: a test runner would have thousands of handles to look after.

const WARM_UP_ROUNDS = 15
const MIN_ROUNDS = 5
const MIN_ATTACK_MS = 2_500
/** An attack that has not made its connections until then is measured as far as it has come. */
const MAX_ATTACK_MS = 7_000
/** A peer that has no answer until then never gets one. Whether it waited too long is decided by `bounds`. */
const PEER_TIMEOUT_MS = 120_000
/**
 * A machine that is busy with other work gives processors to the servers late, which nothing here can tell from servers that are slow. An attack that works
 * does so every time; so its best of three counts, as long as there is time.
 */
const MAX_TRIES = 3
const NO_MORE_TRIES_AFTER_MS = 40_000

const names: readonly PeerName[] = ['proxy', 'worker', 'review', 'health']
const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

function start(program: string, args: readonly string[], execArgv: readonly string[] = []): ChildProcess {
  const child = fork(join(import.meta.dirname, program), args, { execArgv: [...execArgv] })
  children.add(child)
  child.once('exit', (code) => {
    if (children.delete(child) && code !== null) throw new Error(`${program} has ended with ${code}`)
  })
  return child
}

function end(child: ChildProcess | undefined): void {
  if (child !== undefined && children.delete(child)) child.kill('SIGKILL')
}

async function figuresOf(servers: ChildProcess): Promise<ServerFigures> {
  const answer = once(servers, 'message')
  servers.send('figures')
  const [figures] = (await answer) as [ServerFigures]
  return figures
}

async function withTimeout(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${PEER_TIMEOUT_MS} ms`)), PEER_TIMEOUT_MS)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Young objects may take as much memory as the chart lets them. */
const nodeOptions = ['--max-semi-space-size=8']

async function measure(attack: Attack): Promise<AttackFigures> {
  const servers = start('attacked-servers-main.mjs', [], nodeOptions)
  const [places] = (await once(servers, 'message')) as [AttackedServers]
  const peers = peersOf(places)
  const slowest = { proxy: 0, worker: 0, review: 0, health: 0 }
  const failures: string[] = []
  const waits = waitsFor(servers.pid)
  const ask = async (name: PeerName): Promise<void> => {
    const waited = waits()
    try {
      await withTimeout(peers[name]())
    } catch (error) {
      failures.push(`${name}: ${String(error)}`)
    }
    slowest[name] = Math.max(slowest[name], waited())
  }
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) for (const name of names) await peers[name]()
  const before = await figuresOf(servers)

  const { most, rate } = attack
  const plain = [places.ports.health, places.ports.debug]
  const target = JSON.stringify({ attack, ports: Object.values(places.ports), plain })
  const attacker = start('attacker-main.mjs', [target])
  let connections = 0
  attacker.on('message', (made: number) => (connections = made))
  await once(attacker, 'message')
  const begin = performance.now()
  const enough = Math.min(most, (MIN_ATTACK_MS / 1000) * rate * Object.keys(places.ports).length)
  const goesOn = (): boolean => {
    const lasted = performance.now() - begin
    return lasted < MIN_ATTACK_MS || (connections < enough && lasted < MAX_ATTACK_MS)
  }
  for (let round = 0; round < MIN_ROUNDS || goesOn(); round += 1) for (const name of names) await ask(name)
  const { longestBlockMs, maxRssBytes } = await figuresOf(servers)
  end(attacker)
  const page = await (await fetch(`http://127.0.0.1:${places.ports.health}/metrics`)).text()
  end(servers)

  const counted = page.matchAll(/^osm_server_closed_connection_count\{server="([^"]+)"/gm)
  const reporting = [...new Set([...counted].map(([, server = '']) => server))]
  const growthBytes = maxRssBytes - before.maxRssBytes
  return { attack, connections, slowest, longestBlockMs, growthBytes, failures, reporting }
}

const chosen = process.argv[2]
const results: AttackFigures[] = []
for (const attack of attacks) {
  if (chosen !== undefined && chosen !== attack.kind) continue
  let best = await measure(attack)
  for (let tries = 1; tries < MAX_TRIES && !holds(best) && performance.now() < NO_MORE_TRIES_AFTER_MS; tries += 1)
    best = await measure(attack)
  results.push(best)
}
process.stdout.write(`${JSON.stringify(results)}\n`)
process.exit()
