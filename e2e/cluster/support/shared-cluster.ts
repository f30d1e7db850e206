import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Kubectl } from '../kubectl.js'
import { runCommand, type CommandOptions } from '../run-command.js'
import { ClusterLocks } from './cluster-locks.js'

/** Names the file by which test files find the cluster of the run. */
const descriptionVariable = 'OSM_CLUSTER_DESCRIPTION'

/** An image that the nodes have. */
export interface LoadedImage {
  readonly name: string
  /** Names what was tested. */
  readonly digest: string
}

interface Description {
  readonly name: string
  readonly provider: string
  readonly kubeconfig: string
  readonly nodes: readonly string[]
  readonly images: readonly LoadedImage[]
  readonly kubectl: string
  readonly helm: string
}

/** The cluster of the whole run. Test files keep apart by using namespaces and cluster-wide names of their own. */
export class SharedCluster {
  readonly name: string
  readonly provider: string
  readonly kubeconfig: string
  /** Names of the nodes that run pods. */
  readonly nodes: readonly string[]
  readonly images: readonly LoadedImage[]
  readonly kubectl: Kubectl
  /** Path of the real kubectl, for commands that keep running. */
  readonly kubectlPath: string
  /** Path of the real helm. */
  readonly helmPath: string
  /** Keep apart what files that run side by side can't do at the same time. */
  readonly locks: ClusterLocks

  private constructor({ name, provider, kubeconfig, nodes, images, kubectl, helm }: Description, locks: ClusterLocks) {
    this.name = name
    this.provider = provider
    this.kubeconfig = kubeconfig
    this.nodes = nodes
    this.images = images
    this.kubectl = new Kubectl(kubectl, kubeconfig)
    this.kubectlPath = kubectl
    this.helmPath = helm
    this.locks = locks
  }

  /** The cluster that `npm run test:cluster` has made. */
  static open(): SharedCluster {
    const path = process.env[descriptionVariable]
    if (path === undefined) throw new Error(`${descriptionVariable} is not set; run npm run test:cluster`)
    return SharedCluster.describedBy(path)
  }

  /** A cluster by the file that describes it; what keeps files apart is beside it. */
  static describedBy(path: string): SharedCluster {
    const locks = new ClusterLocks(join(dirname(path), 'locks'))
    return new SharedCluster(JSON.parse(readFileSync(path, 'utf8')) as Description, locks)
  }

  /** Another cluster, which a test has made for itself and given images. */
  beside(cluster: Omit<Description, 'kubectl' | 'helm'>): SharedCluster {
    const description = { ...cluster, kubectl: this.kubectlPath, helm: this.helmPath }
    return new SharedCluster(description, this.locks.ofAnother(cluster.name))
  }

  /** The reference of an image by the last part of its name, such as `test-app`. */
  image(name: string): string {
    const found = this.images.find((image) => image.name.replace(/:[^/:]+$/, '').endsWith(`/${name}`))
    if (found === undefined)
      throw new Error(`no image ${name} was loaded; there are ${this.images.map((image) => image.name).join(', ')}`)
    return found.name
  }

  /** Runs the real helm, and gives its standard output. */
  helm(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return runCommand(this.helmPath, args, { ...options, env: { KUBECONFIG: this.kubeconfig, ...options.env } })
  }
}
