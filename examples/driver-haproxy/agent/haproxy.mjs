import { execFile, spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CERTIFICATE, CONFIG, writeFiles } from './files.mjs'
import { mapCommands } from './maps.mjs'
import { childrenOf, isChild } from './processes.mjs'
import { ask, describeWorker } from './runtime.mjs'
import { commandsFor, seat } from './slots.mjs'

/** @typedef {import('./files.mjs').Document} Document */

const CHECK_TIMEOUT_MS = 20_000
const START_TIMEOUT_MS = 10_000
const LOOK_MS = 10
/** HAProxy 2.6 loses a signal that comes in the moments after the start of a worker. */
const SIGNAL_AGAIN_MS = 250
/** A signal that was sent again may be obeyed as well, so much later. */
const SECOND_RELOAD_MS = 2_000
const MAX_WORDS = 4_096

/** A document that HAProxy does not take. The message has its words. */
export class Refused extends Error {}

/** A running HAProxy that is led from one document to the next. */
export class Haproxy {
  #binary
  #folder
  #log
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #master
  /** @type {Document | undefined} */
  #document
  /** @type {readonly import('./files.mjs').Slot[]} */
  #slots = []
  /** Process id of the worker that was told all of {@link #slots}. */
  #worker = 0
  /** False while it is not known which of the changes HAProxy has taken. */
  #isKnown = true
  #words = ''
  #draining = false
  /** @type {Set<NodeJS.Timeout>} */
  #withdrawals = new Set()

  /**
   * @param {{ readonly binary: string, readonly folder: string, readonly log: (text: string) => void, readonly onEnd: (words: string) => void }} options
   */
  constructor({ binary, folder, log, onEnd }) {
    this.#binary = binary
    this.#folder = folder
    this.#log = log
    this.onEnd = onEnd
  }

  /** Revision of the document in force. */
  get revision() {
    return this.#document?.revision ?? ''
  }

  get #runtime() {
    return join(this.#folder, 'haproxy.sock')
  }

  /**
   * Puts a document in force.
   * @param {Document} document
   */
  async apply(document) {
    const running = this.#document
    const isSame = this.#isKnown && running?.layout === document.layout
    if (!isSame || !(await this.#change(running, document))) {
      await this.#check(document)
      await writeFiles(this.#folder, document)
      await this.#launch(running, document)
      this.#slots = document.slots
      this.#isKnown = true
    }
    this.#document = document
  }

  /** Takes no new connections of others; the workload goes on calling. */
  async drain() {
    this.#draining = true
    await this.#closeServed()
  }

  async stop() {
    for (const timer of this.#withdrawals) clearTimeout(timer)
    const master = this.#master
    if (master === undefined || master.exitCode !== null || master.signalCode !== null) return
    this.onEnd = () => undefined
    const ended = new Promise((resolve) => master.once('exit', resolve))
    master.kill('SIGTERM')
    await ended
  }

  /**
   * By the runtime interface. False if HAProxy did not do as it was told: then everything is reloaded.
   * @param {Document} running
   * @param {Document} document
   */
  async #change(running, document) {
    const seated = seat(this.#slots, document.slots)
    const commands = [...commandsFor(this.#slots, seated), ...mapCommands(running.files, document.files)]
    if (running.certificate !== document.certificate)
      commands.push(
        // The blank line ends what is given.
        { command: `set ssl cert ${CERTIFICATE} <<\n${document.certificate.trim()}\n`, answer: /^Transaction created/ },
        { command: `commit ssl cert ${CERTIFICATE}`, answer: /Success!$/ },
      )
    this.#isKnown = false
    for (const { command, answer } of commands) {
      const said = await ask(this.#runtime, command)
      if (answer.test(said)) continue
      this.#log(`HAProxy was told "${command.split('\n')[0]}" and said "${said.slice(0, 200)}"; it reloads everything`)
      return false
    }
    // For the next start.
    await writeFiles(this.#folder, document)
    if ((await describeWorker(this.#runtime))?.pid !== this.#worker) {
      this.#log('another worker of HAProxy has started from the files before; it reloads everything')
      return false
    }
    this.#slots = seated
    this.#isKnown = true
    return true
  }

  /** @param {Document} document */
  async #check(document) {
    const folder = join(this.#folder, 'next')
    await mkdir(folder, { mode: 0o700, recursive: true })
    try {
      await writeFiles(folder, document)
      await new Promise((resolve, reject) => {
        const args = ['-c', '-q', '-f', CONFIG]
        execFile(this.#binary, args, { cwd: folder, timeout: CHECK_TIMEOUT_MS }, (error, _stdout, stderr) =>
          error === null ? resolve(undefined) : reject(new Refused((stderr || error.message).slice(0, MAX_WORDS))),
        )
      })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /**
   * @param {Document | undefined} running
   * @param {Document} document
   */
  async #launch(running, document) {
    const before = await describeWorker(this.#runtime)
    this.#words = ''
    const reload = this.#master === undefined ? undefined : () => this.#master?.kill('SIGUSR2')
    if (reload === undefined) this.#start()
    else reload()
    let signalledAt = performance.now()
    let signals = 1
    let pid = 0
    try {
      await this.#until(async () => {
        const worker = await describeWorker(this.#runtime)
        const isThere = worker !== undefined && worker.layout === document.layout && worker.pid !== before?.pid
        if (isThere) pid = worker.pid
        const isHeard = this.#words.includes('Reloading HAProxy')
        if (!isThere && !isHeard && performance.now() - signalledAt > SIGNAL_AGAIN_MS) {
          signalledAt = performance.now()
          signals += 1
          reload?.()
        }
        return isThere
      })
    } catch (error) {
      // The previous workers continue. The next load must not use the configuration that has failed.
      if (running !== undefined) await writeFiles(this.#folder, running)
      throw error
    }
    this.#worker = signals > 1 ? await this.#lastWorker(pid) : pid
    if (this.#draining) await this.#closeServed()
    const granted = new Set(document.access)
    if (running?.access.some((grant) => !granted.has(grant))) this.#withdraw(this.#worker, document.withdrawalMs)
  }

  /**
   * The worker that stays where HAProxy may reload a second time.
   * @param {number} first process id of the one that is there
   */
  async #lastWorker(first) {
    let pid = first
    let since = performance.now()
    while (performance.now() - since < SECOND_RELOAD_MS) {
      await sleep(LOOK_MS)
      const worker = await describeWorker(this.#runtime)
      if (worker === undefined || worker.pid === pid) continue
      pid = worker.pid
      since = performance.now()
    }
    return pid
  }

  #start() {
    // Without the agent no one would tell HAProxy anything: it ends with it, whatever ends the agent.
    const args = ['--pdeathsig', 'TERM', '--', this.#binary, '-W', '-f', CONFIG]
    const master = spawn('setpriv', args, { cwd: this.#folder, stdio: ['ignore', 'inherit', 'pipe'] })
    this.#master = master
    master.stderr.setEncoding('utf8')
    master.stderr.on('data', (/** @type {string} */ text) => {
      this.#words = `${this.#words}${text}`.slice(-MAX_WORDS)
    })
    master.once('error', (error) => this.onEnd(error.message))
    master.once('exit', () => this.onEnd(this.#words))
  }

  /** @param {() => Promise<boolean>} holds */
  async #until(holds) {
    const deadline = performance.now() + START_TIMEOUT_MS
    while (!(await holds())) {
      const hasFailed = this.#words.includes('Loading failure!') || this.#master?.exitCode !== null
      if (hasFailed || performance.now() > deadline) throw new Refused(`HAProxy does not start with it: ${this.#words}`)
      await sleep(LOOK_MS)
    }
  }

  /**
   * What former workers were let in by another rule: they are ended when their time is over, and with them their connections.
   * @param {number} current process id of the worker of the present document
   * @param {number} milliseconds
   */
  #withdraw(current, milliseconds) {
    // Asked of the kernel: a signal that was sent twice has left a worker that no one here has seen.
    const former = childrenOf(this.#master?.pid).filter((pid) => pid !== current)
    const timer = setTimeout(() => {
      this.#withdrawals.delete(timer)
      for (const pid of former) {
        // The number of a process that has ended meanwhile may be that of another.
        if (isChild(pid, this.#master?.pid)) process.kill(pid, 'SIGTERM')
      }
    }, milliseconds)
    this.#withdrawals.add(timer)
  }

  async #closeServed() {
    const frontends = [...(this.#document?.config ?? '').matchAll(/^frontend (in:\S+)$/gm)]
    for (const [, name] of frontends) await ask(this.#runtime, `disable frontend ${name}`)
  }
}
