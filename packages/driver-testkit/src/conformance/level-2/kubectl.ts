import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

const TIME_LIMIT_MS = 60_000
/** The last of what it says is what matters. */
const MAX_SAID = 1_000

/** How a command ended. */
export interface KubectlResult {
  /** 0 if it succeeded; undefined if it was ended by a signal. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** How a command is run. */
export interface KubectlOptions {
  readonly input?: string
  /** Milliseconds; 60,000 if absent. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** A Kubernetes object, as far as it is written here. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** The program kubectl, for one cluster. */
export class Kubectl {
  readonly program: string
  /** Of the commands and of what stays running. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly #first: readonly string[]

  /** @param kubeconfig - absolute path; kubectl's own choice if absent */
  constructor(
    program: string,
    environment: Readonly<Record<string, string | undefined>>,
    kubeconfig: string | undefined,
  ) {
    this.program = program
    this.environment = environment
    this.#first = kubeconfig === undefined ? [] : [`--kubeconfig=${kubeconfig}`]
  }

  /** The arguments of a command for this cluster. */
  arguments(args: readonly string[]): readonly string[] {
    return [...this.#first, ...args]
  }

  /** Runs a command to its end. @throws if it cannot be run, or takes too long */
  async try(
    args: readonly string[],
    { input = '', timeoutMs = TIME_LIMIT_MS, signal }: KubectlOptions = {},
  ): Promise<KubectlResult> {
    signal?.throwIfAborted()
    const limit = AbortSignal.timeout(timeoutMs)
    const child = spawn(this.program, this.arguments(args), {
      env: { ...this.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      killSignal: 'SIGKILL',
    })
    // Who ends without reading its input says why by its code.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const ended = new Promise<number | undefined>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve(code ?? undefined))
    })
    try {
      const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
      return { code, stdout, stderr }
    } catch (error) {
      if (limit.aborted) throw new Error(`kubectl ${args.join(' ')} did not end in time`, { cause: error })
      throw error
    }
  }

  /** What it prints. @throws with what it says if it fails */
  async run(args: readonly string[], options?: KubectlOptions): Promise<string> {
    const { code, stdout, stderr } = await this.try(args, options)
    if (code === 0) return stdout
    throw new Error(`kubectl ${args.join(' ')} failed: ${stderr.trim().slice(-MAX_SAID)}`)
  }

  /** What it reads, as JSON. The caller knows what it asks for. */
  async get<T>(args: readonly string[], options?: KubectlOptions): Promise<T> {
    return JSON.parse(await this.run(['get', ...args, '-o', 'json'], options)) as T
  }

  /** Applies objects, and gives what it was warned of. */
  async apply(objects: readonly Manifest[], options?: KubectlOptions): Promise<string> {
    const { code, stderr } = await this.try(['apply', '-f', '-'], { ...options, input: asList(objects) })
    if (code === 0) return stderr
    throw new Error(`kubectl apply failed: ${stderr.trim().slice(-MAX_SAID)}`)
  }

  async remove(objects: readonly Manifest[], options?: KubectlOptions): Promise<void> {
    await this.run(['delete', '--ignore-not-found', '-f', '-'], { ...options, input: asList(objects) })
  }
}

function asList(items: readonly Manifest[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}
