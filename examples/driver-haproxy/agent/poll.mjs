import { readFile } from 'node:fs/promises'
import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { Refused } from './haproxy.mjs'

/** @typedef {import('./files.mjs').Document} Document */

/** Longer than the server lets a poll wait. */
const POLL_TIMEOUT_MS = 40_000
const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 5_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_WORDS = 2_048

/**
 * @typedef {{
 *   readonly host: string, readonly port: number, readonly serverName: string, readonly certificate: string, readonly key: string, readonly roots: string
 * }} Server paths of PEM files, which are replaced in place
 */

/**
 * Puts in force what the server offers, until the signal aborts. The next poll says what became of it.
 * @param {Server} server
 * @param {Pick<import('./haproxy.mjs').Haproxy, 'apply' | 'revision'>} haproxy
 * @param {(text: string) => void} log
 * @param {AbortSignal} signal
 */
export async function follow(server, haproxy, log, signal) {
  let pause = MIN_PAUSE_MS
  /** @type {{ readonly revision: string, readonly words: string } | undefined} */
  let refused
  while (!signal.aborted) {
    try {
      const document = await poll(server, haproxy.revision, refused, signal)
      refused = undefined
      pause = MIN_PAUSE_MS
      if (document === undefined) continue
      try {
        await haproxy.apply(document)
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        refused = { revision: document.revision, words: error.message }
        log(`HAProxy refused revision ${document.revision}: ${error.message}`)
      }
    } catch (error) {
      if (isOver(signal)) return
      log(`the control plane can't be followed: ${error instanceof Error ? error.message : String(error)}`)
      // Many that lost the same server must not return at once.
      await sleep(pause * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
      pause = Math.min(pause * 2, MAX_PAUSE_MS)
    }
  }
}

/**
 * It changes while others are waited for, which the compiler does not see.
 * @param {AbortSignal} signal
 */
function isOver(signal) {
  return signal.aborted
}

/**
 * @param {Server} server
 * @param {string} has
 * @param {{ readonly revision: string, readonly words: string } | undefined} refused
 * @param {AbortSignal} signal
 * @returns {Promise<Document | undefined>}
 */
async function poll({ host, port, serverName, certificate, key, roots }, has, refused, signal) {
  // The agent reads its key for every poll, and can use it for more.
  const query = new URLSearchParams({ has, key: 'proxy' })
  if (refused !== undefined) {
    query.set('refused', refused.revision)
    query.set('words', refused.words.slice(0, MAX_WORDS))
  }
  const [cert, privateKey, ca] = await Promise.all([certificate, key, roots].map((path) => readFile(path)))
  const { status, body } = await new Promise((resolve, reject) => {
    const options = { host, port, servername: serverName, cert, key: privateKey, ca, agent: false, signal }
    const sent = request(
      { ...options, path: `/v1/document?${query.toString()}`, timeout: POLL_TIMEOUT_MS, minVersion: 'TLSv1.2' },
      (response) => {
        /** @type {Buffer[]} */
        const chunks = []
        let length = 0
        response.on('data', (/** @type {Buffer} */ chunk) => {
          chunks.push(chunk)
          length += chunk.length
          if (length > MAX_BYTES) response.destroy(new Error('the document is too long'))
        })
        response.once('error', reject)
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
        )
      },
    )
    sent.once('timeout', () => sent.destroy(new Error('the control plane does not answer')))
    sent.once('error', reject)
    sent.end()
  })
  if (status === 204) return undefined
  if (status !== 200) throw new Error(`the control plane answers ${status}: ${body.slice(0, 200).trim()}`)
  return withKey(JSON.parse(body), privateKey)
}

/**
 * A certificate for the key of the sidecar comes without one. It is for the key that this poll has shown: a file may have another by now.
 * @param {Document & { readonly key?: string }} document
 * @param {Buffer} privateKey
 * @returns {Document}
 */
function withKey({ key, ...document }, privateKey) {
  if (key !== 'proxy') return document
  return { ...document, certificate: `${document.certificate.trimEnd()}\n${privateKey.toString('utf8')}` }
}
