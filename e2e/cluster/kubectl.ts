import { runCommand, tryCommand, type CommandOptions, type CommandResult } from './run-command.js'

/** The real kubectl, for one cluster. */
export class Kubectl {
  readonly #binary: string
  readonly #kubeconfig: string
  readonly #env: Readonly<Record<string, string>>

  /** @param env - added to the environment of every call */
  constructor(binary: string, kubeconfig: string, env: Readonly<Record<string, string>> = {}) {
    this.#binary = binary
    this.#kubeconfig = kubeconfig
    this.#env = env
  }

  /** Its standard output; throws what it says when it fails. */
  run(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return runCommand(this.#binary, args, this.#with(options))
  }

  /** How it ended. */
  try(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return tryCommand(this.#binary, args, this.#with(options))
  }

  /** The objects that it reads: one, or a list. */
  async get<T>(args: readonly string[], options: CommandOptions = {}): Promise<T> {
    return JSON.parse(await this.run(['get', ...args, '-o', 'json'], options)) as T
  }

  /** Applies an object, or a list of kind `List`. */
  async apply(manifest: object, options: CommandOptions = {}): Promise<void> {
    await this.run(['apply', '-f', '-'], { ...options, input: JSON.stringify(manifest) })
  }

  #with({ env, ...options }: CommandOptions): CommandOptions {
    return { ...options, env: { ...this.#env, KUBECONFIG: this.#kubeconfig, ...env } }
  }
}
