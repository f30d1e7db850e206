import { dirname } from 'node:path'
import { readImageArchive } from './image-archive.js'
import { ExistingProvider } from './existing-provider.js'
import { KindProvider } from './kind-provider.js'
import type { IpFamily } from './local/address-plan.js'
import { LocalProvider } from './local/local-provider.js'
import type { LocalPrograms } from './local/machine-script.js'
import type { ClusterDescription, ClusterProvider, ClusterStatus, ImageArchive } from './provider.js'

/** What `npm run cluster` asks for; made by tools/tasks/cluster.mjs. */
export interface ClusterRequest {
  readonly command: 'down' | 'load' | 'status' | 'up'
  readonly provider: 'existing' | 'kind' | 'local'
  readonly name: string
  readonly nodes: number
  /** For `up` of `local`. */
  readonly ipFamily: IpFamily
  readonly output: 'json' | 'text'
  /** Paths of programs. */
  readonly kubectl: string
  /** For `up` of `kind`. */
  readonly nodeImage?: string
  /** For `existing`. */
  readonly kubeconfig?: string
  /** For `existing`: a program that takes an archive and the image's name. */
  readonly pushWith?: string
  /** For `up` of `local`. */
  readonly local?: { readonly programs: LocalPrograms; readonly pauseArchive: string; readonly dnsArchive: string }
  /** For `load`: paths of archives. */
  readonly archives?: readonly string[]
}

/** Does what is asked for, says so on standard output, and gives the exit code. */
export async function performRequest(request: ClusterRequest, signal: AbortSignal): Promise<number> {
  const provider = providerFor(request, signal)
  const print = (value: object, text: string): void => {
    process.stdout.write(`${request.output === 'json' ? JSON.stringify(value, undefined, 2) : text}\n`)
  }
  switch (request.command) {
    case 'up': {
      const cluster = await provider.up(signal)
      print(cluster, clusterText(cluster, request))
      return 0
    }
    case 'load': {
      const images = await Promise.all((request.archives ?? []).map((path) => readImageArchive(path, signal)))
      const loaded = await provider.load(images, signal)
      const rows = images.map(({ name, digest }) => ({ name, digest, loaded: loaded.includes(name) }))
      print(
        { images: rows },
        rows.map((row) => `${row.name}@${row.digest}  ${row.loaded ? 'loaded' : 'was there'}`).join('\n'),
      )
      return 0
    }
    case 'status': {
      const status = await provider.status(signal)
      print(status, statusText(status, request))
      return status.state === 'up' ? 0 : 1
    }
    case 'down':
      await provider.down(signal)
      print({ state: 'down' }, `cluster ${request.name} is down`)
      return 0
  }
}

function providerFor(
  { provider, name, nodes, nodeImage, ipFamily, kubectl, kubeconfig, pushWith, local }: ClusterRequest,
  signal: AbortSignal,
): ClusterProvider {
  switch (provider) {
    case 'existing':
      return new ExistingProvider({ kubectl, kubeconfig, pushWith })
    case 'kind':
      return new KindProvider({ name, nodes }, nodeImage)
    case 'local':
      return new LocalProvider(name, kubectl, async () => {
        if (local === undefined) throw new Error('the request names no programs')
        const [pause, dns] = await Promise.all(
          [local.pauseArchive, local.dnsArchive].map((path) => readImageArchive(path, signal)),
        )
        return {
          name,
          nodes,
          ipFamily,
          programs: local.programs,
          kubectl,
          images: { pause: pause as ImageArchive, dns: dns as ImageArchive },
        }
      })
  }
}

function clusterText({ name, nodes, kubeconfig }: ClusterDescription, { kubectl }: ClusterRequest): string {
  return [
    `cluster ${name} is up: ${nodes.join(', ')}`,
    `export KUBECONFIG=${kubeconfig}`,
    `export PATH="$PATH:${dirname(kubectl)}"  # kubectl and helm, where there are none`,
  ].join('\n')
}

function statusText({ state, findings, cluster }: ClusterStatus, request: ClusterRequest): string {
  if (state === 'up' && cluster !== undefined) return clusterText(cluster, request)
  return [`the cluster is ${state === 'partial' ? 'not working' : 'down'}`, ...findings].join('\n')
}
