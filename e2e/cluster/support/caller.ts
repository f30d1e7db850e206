import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Answered, Asked, Call, CallAnswer } from '@osm-ts/driver-testkit/testing'
import { parseCall, type CallSettings } from '../app/call.js'
import type { SharedCluster } from './shared-cluster.js'

const answerTimeoutMs = 150_000
const settingsOfCalls: CallSettings = { method: 'GET', header: [], http2: false }

/** What a call can be given besides its URL; see `CallSettings`. */
export type CallOptions = Partial<CallSettings>

/** Makes calls from inside a container of the test application, over one `kubectl exec` for as long as there are calls. */
export class Caller {
  /** For messages. */
  readonly name: string
  readonly #cluster: SharedCluster
  readonly #exec: readonly string[]
  readonly #waiting = new Map<number, (answer: CallAnswer | Error) => void>()
  #calls = 0
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined
  #said = ''

  /** @param target - as kubectl takes it: `pod/x`, `deploy/x` */
  constructor(cluster: SharedCluster, namespace: string, target: string) {
    this.name = `${namespace}/${target.replace(/^[a-z]+\//, '')}`
    this.#cluster = cluster
    const program = ['/nodejs/bin/node', '/app/test-app.mjs', 'calls']
    this.#exec = ['exec', '-i', target, '--namespace', namespace, '--container', 'app', '--', ...program]
  }

  /** Makes a call of a URL, as `app call` takes it. A call that was not answered is an answer too. */
  call(url: string, options: CallOptions = {}): Promise<CallAnswer> {
    return this.perform(parseCall(new URL(url), { ...settingsOfCalls, ...options }))
  }

  close(): void {
    this.#child?.kill('SIGKILL')
  }

  /** Makes a call. */
  async perform(call: Call): Promise<CallAnswer> {
    const child = (this.#child ??= this.#start())
    this.#calls += 1
    const id = this.#calls
    const answered = new Promise<CallAnswer | Error>((resolve) => this.#waiting.set(id, resolve))
    const late = setTimeout(() => {
      this.#waiting.get(id)?.(new Error(`${this.name} said nothing for ${answerTimeoutMs} ms`))
    }, answerTimeoutMs)
    const asked: Asked = { id, call }
    child.stdin.write(`${JSON.stringify(asked)}\n`)
    try {
      const answer = await answered
      if (answer instanceof Error) throw answer
      return answer
    } finally {
      clearTimeout(late)
      this.#waiting.delete(id)
    }
  }

  #start(): ChildProcessByStdio<Writable, Readable, Readable> {
    const env = { ...process.env, KUBECONFIG: this.#cluster.kubeconfig }
    const child = spawn(this.#cluster.kubectlPath, this.#exec, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#said = ''
    child.stderr.on('data', (chunk: Buffer) => (this.#said += chunk.toString()))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, answer } = JSON.parse(line) as Answered
      this.#waiting.get(id)?.(answer)
    })
    // A process that has ended says so below.
    child.stdin.on('error', () => undefined)
    child.once('error', (error) => this.#end(error))
    child.once('close', () => this.#end(new Error(`${this.name} makes no calls any more: ${this.#said.trim()}`)))
    return child
  }

  /** The next call starts over: pods come and go. */
  #end(error: Error): void {
    this.#child = undefined
    for (const settle of this.#waiting.values()) settle(error)
  }
}
