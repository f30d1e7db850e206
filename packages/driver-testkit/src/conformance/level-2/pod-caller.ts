import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

import type { Answered, Asked, Call, CallAnswer } from '../../actor/protocol.js'
import type { Kubectl } from './kubectl.js'

/** How calls are made. */
export interface PodCallerOptions {
  /** As kubectl takes it: `pod/x`, `deploy/x`. */
  readonly target: string
  readonly namespace: string
  /** The application, with what runs it. */
  readonly program: readonly string[]
  /** For messages; `a pod` if absent. */
  readonly name?: string
  /** How long an answer is waited for; 60,000 if absent. A call has its own bound, which is lower. */
  readonly answerMs?: number
}

/** Makes calls from inside a pod, over one `kubectl exec` for as long as there are calls. */
export class PodCaller {
  readonly #kubectl: Kubectl
  readonly #args: readonly string[]
  readonly #name: string
  readonly #answerMs: number
  readonly #waiting = new Map<number, (answer: CallAnswer | Error) => void>()
  #child: ChildProcessByStdio<Writable, Readable, Readable> | undefined
  #asked = 0

  constructor(kubectl: Kubectl, { target, namespace, program, name = 'a pod', answerMs = 60_000 }: PodCallerOptions) {
    this.#kubectl = kubectl
    const pod = ['exec', '-i', target, '--namespace', namespace, '--container', 'app']
    this.#args = [...pod, '--', ...program, 'calls']
    this.#name = name
    this.#answerMs = answerMs
  }

  /** Makes a call; one that was not answered is an answer too. Rejects if the pod makes none. */
  async call(call: Call): Promise<CallAnswer> {
    const child = (this.#child ??= this.#start())
    this.#asked += 1
    const asked: Asked = { id: this.#asked, call }
    const answered = new Promise<CallAnswer | Error>((resolve) => this.#waiting.set(asked.id, resolve))
    const late = setTimeout(
      () => this.#waiting.get(asked.id)?.(new Error(`${this.#name} said nothing for ${this.#answerMs} ms`)),
      this.#answerMs,
    )
    child.stdin.write(`${JSON.stringify(asked)}\n`)
    try {
      const answer = await answered
      if (answer instanceof Error) throw answer
      return answer
    } finally {
      clearTimeout(late)
      this.#waiting.delete(asked.id)
    }
  }

  close(): void {
    this.#child?.kill('SIGKILL')
  }

  #start(): ChildProcessByStdio<Writable, Readable, Readable> {
    const child = spawn(this.#kubectl.program, this.#kubectl.arguments(this.#args), {
      env: { ...this.#kubectl.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-1_000)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, answer } = JSON.parse(line) as Answered
      this.#waiting.get(id)?.(answer)
    })
    // One that has ended says so below.
    child.stdin.on('error', () => undefined)
    const end = (error: Error): void => {
      if (this.#child === child) this.#child = undefined
      for (const settle of this.#waiting.values()) settle(error)
    }
    child.once('error', end)
    child.once('close', () => end(new Error(`${this.#name} makes no calls any more: ${said.trim()}`)))
    return child
  }
}
