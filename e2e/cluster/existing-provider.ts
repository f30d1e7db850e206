import { existsSync } from 'node:fs'
import { Kubectl } from './kubectl.js'
import {
  ClusterError,
  type ClusterDescription,
  type ClusterProvider,
  type ClusterStatus,
  type ImageArchive,
} from './provider.js'
import { runCommand } from './run-command.js'

/** Which cluster it is, and how images get to it. */
export interface ExistingSettings {
  readonly kubectl: string
  readonly kubeconfig: string | undefined
  readonly pushWith: string | undefined
}

const answerTimeoutMs = 20_000
const pushTimeoutMs = 600_000

/** A cluster that somebody else runs. Nothing is made and nothing is removed. */
export class ExistingProvider implements ClusterProvider {
  readonly #kubeconfig: string
  readonly #kubectl: Kubectl
  readonly #pushWith: string | undefined

  constructor({ kubectl, kubeconfig, pushWith }: ExistingSettings) {
    if (kubeconfig === undefined)
      throw new ClusterError('provider existing: name a kubeconfig by --kubeconfig or KUBECONFIG')
    if (!existsSync(kubeconfig)) throw new ClusterError(`--kubeconfig ${kubeconfig}: there is no such file`)
    this.#kubeconfig = kubeconfig
    this.#kubectl = new Kubectl(kubectl, kubeconfig)
    this.#pushWith = pushWith
  }

  async up(signal: AbortSignal): Promise<ClusterDescription> {
    const list = await this.#kubectl.get<{
      readonly items: readonly { readonly metadata: { readonly name: string } }[]
    }>(['nodes'], { timeoutMs: answerTimeoutMs, signal })
    const nodes = list.items.map(({ metadata }) => metadata.name)
    return { name: 'existing', provider: 'existing', kubeconfig: this.#kubeconfig, nodes }
  }

  async load(images: readonly ImageArchive[], signal: AbortSignal): Promise<readonly string[]> {
    if (this.#pushWith === undefined) {
      const paths = images.map(({ path, name }) => `  ${path}  ${name}`)
      throw new ClusterError(
        'images get to a cluster of your own through a registry of yours. Name the registry by --registry and, by --push-with, a program ' +
          `that takes an archive and the name of its image and pushes it; or push these by hand:\n${paths.join('\n')}`,
      )
    }
    for (const { path, name } of images)
      await runCommand(this.#pushWith, [path, name], { timeoutMs: pushTimeoutMs, signal })
    return images.map(({ name }) => name)
  }

  async status(signal: AbortSignal): Promise<ClusterStatus> {
    const { code, stderr } = await this.#kubectl.try(['get', '--raw=/readyz'], { timeoutMs: answerTimeoutMs, signal })
    if (code !== 0) return { state: 'down', findings: [stderr.trim()] }
    return { state: 'up', findings: [], cluster: await this.up(signal) }
  }

  down(): Promise<void> {
    return Promise.reject(new ClusterError('a cluster of your own is not taken down'))
  }
}
