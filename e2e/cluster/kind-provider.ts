import { mkdirSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { ClusterDescription, ClusterProvider, ClusterSettings, ClusterStatus, ImageArchive } from './provider.js'
import { runCommand } from './run-command.js'

const createTimeoutMs = 600_000
const loadTimeoutMs = 300_000

/** A cluster of kind, which takes a container engine and the images of its nodes. */
export class KindProvider implements ClusterProvider {
  readonly #name: string
  readonly #nodes: number
  readonly #kubeconfig: string
  readonly #nodeImage: string | undefined

  /** @param nodeImage - decides the version of Kubernetes; kind has a default */
  constructor({ name, nodes }: ClusterSettings, nodeImage?: string) {
    this.#nodeImage = nodeImage
    this.#name = `osm-cluster-${name}`
    this.#nodes = nodes
    this.#kubeconfig = join(homedir(), '.kube', `${this.#name}.kubeconfig`)
  }

  async up(signal: AbortSignal): Promise<ClusterDescription> {
    if (!(await this.#exists(signal))) {
      mkdirSync(dirname(this.#kubeconfig), { recursive: true })
      const args = [
        'create',
        'cluster',
        '--name',
        this.#name,
        '--kubeconfig',
        this.#kubeconfig,
        '--wait',
        '120s',
        '--config',
        '-',
        ...(this.#nodeImage === undefined ? [] : ['--image', this.#nodeImage]),
      ]
      await runCommand('kind', args, { input: kindConfiguration(this.#nodes), timeoutMs: createTimeoutMs, signal })
    }
    return this.#describe(signal)
  }

  async load(images: readonly ImageArchive[], signal: AbortSignal): Promise<readonly string[]> {
    for (const { path } of images) {
      const args = ['load', 'image-archive', path, '--name', this.#name]
      await runCommand('kind', args, { timeoutMs: loadTimeoutMs, signal })
    }
    return images.map(({ name }) => name)
  }

  async status(signal: AbortSignal): Promise<ClusterStatus> {
    if (!(await this.#exists(signal))) return { state: 'down', findings: [] }
    return { state: 'up', findings: [], cluster: await this.#describe(signal) }
  }

  async down(signal: AbortSignal): Promise<void> {
    const args = ['delete', 'cluster', '--name', this.#name, '--kubeconfig', this.#kubeconfig]
    await runCommand('kind', args, { timeoutMs: createTimeoutMs, signal })
    rmSync(this.#kubeconfig, { force: true })
  }

  async #exists(signal: AbortSignal): Promise<boolean> {
    return lines(await runCommand('kind', ['get', 'clusters'], { signal })).includes(this.#name)
  }

  async #describe(signal: AbortSignal): Promise<ClusterDescription> {
    const nodes = lines(await runCommand('kind', ['get', 'nodes', '--name', this.#name], { signal }))
    return { name: this.#name, provider: 'kind', kubeconfig: this.#kubeconfig, nodes }
  }
}

/** One control plane, and as many workers as the cluster is to have nodes for pods. JSON is YAML. */
function kindConfiguration(nodes: number): string {
  const roles = ['control-plane', ...Array.from({ length: nodes }, () => 'worker')]
  return JSON.stringify({
    kind: 'Cluster',
    apiVersion: 'kind.x-k8s.io/v1alpha4',
    nodes: roles.map((role) => ({ role })),
  })
}

function lines(output: string): readonly string[] {
  return output.split('\n').filter((line) => line !== '')
}
