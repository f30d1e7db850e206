import { join } from 'node:path'
import { runCommand, tryCommand } from '../run-command.js'
import type { ImageArchive } from '../provider.js'

const pollMs = 100
const answerTimeoutMs = 30_000
const importTimeoutMs = 300_000

/** The container runtime of a node, spoken to from this machine. */
export class NodeRuntime {
  readonly #socket: string
  readonly #env: Readonly<Record<string, string>>

  /** @param folder - of the node's machine */
  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#socket = join(folder, 'lib/containerd/containerd.sock')
    this.#env = env
  }

  /** Waits until it answers. */
  async ready(signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + answerTimeoutMs
    for (;;) {
      const { code, stderr } = await tryCommand('ctr', this.#arguments('version'), { env: this.#env, signal })
      if (code === 0) return
      if (performance.now() > deadline) throw new Error(`containerd does not answer: ${stderr.trim()}`)
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }

  /** Digests by name of all images that the node has. */
  async images(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const listed = await runCommand('ctr', this.#arguments('images', 'list'), { env: this.#env, signal })
    const lines = listed
      .split('\n')
      .slice(1)
      .map((line) => line.split(/\s+/))
    return new Map(lines.flatMap(([name = '', , digest]) => (digest === undefined ? [] : [[name, digest] as const])))
  }

  /** Imports images, of which only the layers that the node lacks take time. Gives those that it did not have already. */
  async import(images: readonly ImageArchive[], signal: AbortSignal): Promise<readonly ImageArchive[]> {
    const present = await this.images(signal)
    const missing = images.filter(({ name, digest }) => present.get(name) !== digest)
    const options = { env: this.#env, signal, timeoutMs: importTimeoutMs }
    for (const { path } of missing) await runCommand('ctr', this.#arguments('images', 'import', path), options)
    return missing
  }

  #arguments(...args: readonly string[]): readonly string[] {
    return ['--address', this.#socket, '--namespace', 'k8s.io', ...args]
  }
}
