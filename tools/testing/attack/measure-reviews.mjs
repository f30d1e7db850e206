import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:https'
import { join } from 'node:path'

import { waitsFor } from './waits.mjs'

/** What an attack by reviews must not exceed. */
export const reviewBounds = { answerMs: 1_000, longestBlockMs: 100, growthBytes: 50 * 1024 * 1024 }

const WARM_UP_ROUNDS = 30
const MIN_ATTACK_MS = 3_000
/** An attack that has had so many answers has shown what it does. A busy machine takes longer for them. */
const ENOUGH_ANSWERS = 50
const MAX_ATTACK_MS = 45_000
/** As the chart has it. */
const execArgv = ['--max-semi-space-size=8']
/** Patches and denials are told in part: a test looks for what is in them. */
const TOLD = 32_768

/**
 * A webhook in its own process, and what it is attacked with.
 * @typedef {object} ReviewAttack
 * @property {string} program path of the process, which tells its parent `{ webhook, health }`, its ports, and its figures by `reportFigures`
 * @property {string} path of the webhook
 * @property {readonly string[]} bodies reviews of the attacker
 * @property {number} atOnce of them under way
 * @property {string} honest a review of somebody else, who is at another address; it is allowed
 */

/**
 * @typedef {object} ReviewAttackFigures
 * @property {readonly { readonly status: number, readonly bytes: number, readonly text: string }[]} alone answers to the attacker's reviews, each sent alone
 * @property {number} answered reviews of the attacker in its stream; others were refused
 * @property {{ readonly review: number, readonly health: number }} slowest milliseconds that honest reviews and probes waited for, see `waitsFor`
 * @property {readonly string[]} failures of these
 * @property {number} longestBlockMs
 * @property {number} growthBytes by how much the resident memory of the server has grown, at its highest
 */

/**
 * Attacks a webhook while others use it. A machine that is busy with other work makes a server slow, which nothing here can tell from one that is slow by
 * itself. An attack that works does so every time: so a second measurement counts if the first one does not hold.
 * @param {ReviewAttack} attack
 * @returns {Promise<ReviewAttackFigures>}
 */
export async function measureReviewAttack(attack) {
  const figures = await measureOnce(attack)
  return holds(figures) ? figures : measureOnce(attack)
}

/** @param {ReviewAttackFigures} figures */
function holds({ slowest, longestBlockMs, growthBytes, failures }) {
  return (
    failures.length === 0 &&
    Math.max(slowest.review, slowest.health) < reviewBounds.answerMs &&
    longestBlockMs < reviewBounds.longestBlockMs &&
    growthBytes < reviewBounds.growthBytes
  )
}

/**
 * @param {ReviewAttack} attack
 * @returns {Promise<ReviewAttackFigures>}
 */
async function measureOnce({ program, path, bodies, atOnce, honest }) {
  const server = fork(program, [], { execArgv })
  const attacker = fork(join(import.meta.dirname, 'review-attacker.mjs'), [], {
    stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
  })
  try {
    const [ports] = /** @type {[{ readonly webhook: number, readonly health: number }]} */ (
      await once(server, 'message')
    )
    const peers = honestPeers({ ports, path, review: honest, waits: waitsFor(server.pid) })
    for (let round = 0; round < WARM_UP_ROUNDS; round += 1) await peers.ask()
    peers.reset()
    const before = await figuresOf(server)
    const alone = []
    for (const body of bodies) {
      const { status, text } = await ask(ports.webhook, path, body)
      alone.push({ status, bytes: text.length, text: text.slice(0, TOLD) })
    }
    let answered = 0
    attacker.on('message', (count) => (answered = Number(count)))
    attacker.stdin?.end(JSON.stringify({ port: ports.webhook, path, atOnce, bodies }))
    await once(attacker, 'message')
    const begin = performance.now()
    const goesOn = () => {
      const lasted = performance.now() - begin
      return lasted < MIN_ATTACK_MS || (answered < ENOUGH_ANSWERS && lasted < MAX_ATTACK_MS)
    }
    while (goesOn()) await peers.ask()
    const { longestBlockMs, maxRssBytes } = await figuresOf(server)
    return { alone, answered, longestBlockMs, growthBytes: maxRssBytes - before.maxRssBytes, ...peers.figures() }
  } finally {
    for (const child of [server, attacker]) {
      if (child.exitCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}

/**
 * Others than the attacker.
 * @param {{ readonly ports: { readonly webhook: number, readonly health: number }, readonly path: string, readonly review: string, readonly waits: () => () => number }} peers
 */
function honestPeers({ ports, path, review, waits }) {
  let slowest = { review: 0, health: 0 }
  /** @type {string[]} */
  const failures = []
  return {
    ask: async () => {
      const reviewing = waits()
      const { status, text } = await ask(ports.webhook, path, review)
      const reviewMs = reviewing()
      if (status !== 200 || !text.includes('"allowed":true')) failures.push(`review: ${status} ${text.slice(0, 200)}`)
      const probing = waits()
      const health = await fetch(`http://127.0.0.1:${ports.health}/health/alive`)
      await health.arrayBuffer()
      if (health.status !== 200) failures.push(`health: ${health.status}`)
      slowest = {
        review: Math.max(slowest.review, reviewMs),
        health: Math.max(slowest.health, probing()),
      }
    },
    reset: () => (slowest = { review: 0, health: 0 }),
    figures: () => ({ slowest, failures }),
  }
}

/**
 * @param {import('node:child_process').ChildProcess} server
 * @returns {Promise<import('./process-watch.mjs').ProcessFigures>}
 */
async function figuresOf(server) {
  const answer = once(server, 'message')
  server.send('figures')
  const [figures] = await answer
  return figures
}

/**
 * @param {number} port
 * @param {string} path
 * @param {string} body
 * @returns {Promise<{ readonly status: number, readonly text: string }>}
 */
async function ask(port, path, body) {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  // As from another machine: the limits of one address concern no other.
  const others = { localAddress: '127.0.0.2', rejectUnauthorized: false, agent: /** @type {const} */ (false) }
  const asking = request({ host: '127.0.0.1', port, path, method: 'POST', headers, ...others })
  asking.end(body)
  const [answer] = await once(asking, 'response')
  const chunks = []
  for await (const chunk of answer) chunks.push(chunk)
  return { status: answer.statusCode, text: Buffer.concat(chunks).toString() }
}
