import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { endProcess } from '../../api/harness/child-program.js'
import { root } from '../../../tools/lib/paths.mjs'
import { removeLeftovers } from '../../dataplane/support/kernel.js'
import { envoyBinary } from '../../dataplane/support/mesh.js'
import { machinePid } from '../local/machine-process.js'
import { ClusterError } from '../provider.js'
import { runCommand } from '../run-command.js'
import { apiServerHost } from './own-address.js'
import type { SharedCluster } from './shared-cluster.js'

const osm = join(root, 'packages/cli/dist/osm.mjs')
const app = join(root, 'e2e/dist/test-app.mjs')
const namespacePrefix = 'osmtest-'
/** Third part of the addresses of machines: neither links nor Services nor pods of a local cluster have it. */
const addressPart = 64

/** Port of the program of a machine, as its callers know it. */
export const machinePort = 8080
/** Where the sidecar of a machine listens for the first Service that it serves: three ports before are its own. */
export const firstListener = 15_103

/** Folders that `ip netns exec` puts in place of files in /etc. */
const etcRoot = '/etc/netns'

/** One request of a program, which knows nothing of the mesh unless it is given a forward proxy: the status, and of success the server. */
const askProgram = `
  const [url, proxy] = process.argv.slice(1)
  const { hostname, port } = new URL(proxy ?? url)
  const by = proxy === undefined ? {} : { host: hostname, port, path: url, headers: { host: new URL(url).host } }
  require('node:http').get(proxy === undefined ? url : by, (response) => {
    let text = ''
    response.on('data', (piece) => (text += piece)).on('end', () => {
      console.log(response.statusCode + (response.statusCode === 200 ? ' ' + JSON.parse(text).server : ''))
    })
  }).on('error', (error) => console.log('error ' + error.code))`

type Program = ChildProcessByStdio<null, Readable, null>

/**
 * A Linux machine outside the cluster: a network namespace with an address of its own and a link to the cluster's router. Pods reach it, and
 * it reaches pods and Services.
 */
export class OutsideMachine {
  readonly name: string
  readonly address: string
  readonly #namespace: string
  readonly #state: string
  readonly #programs: Program[] = []
  #joined: Program | undefined
  #proxy = ''

  private constructor(name: string, address: string, namespace: string, state: string) {
    this.name = name
    this.address = address
    this.#namespace = namespace
    this.#state = state
  }

  /**
   * Makes a machine.
   *
   * @param number - of the machines of one cluster, from 0 to 63
   */
  static async create(cluster: SharedCluster, name: string, number: number): Promise<OutsideMachine> {
    const router = machinePid(join(dirname(cluster.kubeconfig), 'control-plane'), cluster.name)
    if (router === undefined)
      throw new ClusterError('machines outside the cluster need a local cluster, whose router is here')
    removeLeftovers(namespacePrefix)
    const namespace = `${namespacePrefix}${String(process.pid)}-${name}`
    const block = (await apiServerHost(cluster)).split('.').slice(0, 2).join('.')
    const at = (offset: number): string => `${block}.${addressPart}.${4 * number + offset}`
    const link = `out-${number}`
    await ip([], `netns add ${namespace}`)
    await ip(
      ['nsenter', `--net=/proc/${router}/ns/net`],
      [
        `link add ${link} type veth peer name eth0 netns ${namespace}`,
        `address add ${at(1)}/30 dev ${link}`,
        `link set ${link} up`,
      ],
    )
    await ip(
      ['ip', 'netns', 'exec', namespace],
      ['link set lo up', `address add ${at(2)}/30 dev eth0`, 'link set eth0 up', `route add default via ${at(1)}`],
    )
    // A machine that redirects connections writes names into its hosts file, which is not that of this machine.
    await mkdir(join(etcRoot, namespace), { recursive: true })
    await writeFile(join(etcRoot, namespace, 'hosts'), '127.0.0.1 localhost\n')
    return new OutsideMachine(name, at(2), namespace, await mkdtemp(join(tmpdir(), `osm-${name}-`)))
  }

  /** Starts a program that answers HTTP requests under a name. */
  async serve(name: string): Promise<void> {
    const program = this.#start([app, 'serve', '--linger=0', `${machinePort}=http`], {
      NAME: name,
      HOSTNAME: this.name,
    })
    await once(program.stdout, 'data')
    program.stdout.resume()
  }

  /** Has the machine join, or come back, and waits until it is ready for its callers. */
  async join(controlPlane: string, proof: NodeJS.ProcessEnv = {}, ...options: readonly string[]): Promise<void> {
    const state = ['--state', join(this.#state, 'state'), '--name', this.name, '--port', String(machinePort)]
    const args = ['machine', 'join', controlPlane, ...state, '--envoy', envoyBinary(), '-o', 'json', ...options]
    const program = this.#start([osm, ...args], proof)
    this.#joined = program
    const lines = createInterface({ input: program.stdout })
    for await (const line of lines) {
      const event = JSON.parse(line) as { readonly type: string; readonly ready?: boolean; readonly variables?: object }
      if (event.type !== 'reported' || event.ready !== true) continue
      // Absent where connections are redirected.
      this.#proxy = (event.variables as { readonly HTTP_PROXY?: string }).HTTP_PROXY ?? ''
      program.stdout.resume()
      return
    }
    throw new Error(`${this.name} did not join`)
  }

  /** Has the machine join by a token of a service account. */
  async joinByAccount(controlPlane: string, token: string, roots: string): Promise<void> {
    const file = (name: string): string => join(this.#state, name)
    await writeFile(file('account-token'), token, { mode: 0o600 })
    await writeFile(file('root.pem'), roots)
    const proof = ['--service-account-token-file', file('account-token'), '--root-file', file('root.pem')]
    await this.join(controlPlane, {}, ...proof)
  }

  /** Ends its sidecar as a service manager does. The machine can come back. */
  async stop(): Promise<void> {
    if (this.#joined !== undefined) await endProcess(this.#joined)
    this.#joined = undefined
  }

  /** What a program of the machine is answered that asks by the forward proxy: the status, and of success the server. */
  async ask(url: string): Promise<string> {
    return (await runCommand('ip', [...this.#inside, '-e', askProgram, url, this.#proxy])).trim()
  }

  /** What a program of the machine is answered that knows nothing of the mesh. */
  async call(url: string): Promise<string> {
    return (await runCommand('ip', [...this.#inside, '-e', askProgram, url])).trim()
  }

  /** Ends everything that runs on the machine, and removes it. */
  async remove(): Promise<void> {
    await this.stop()
    await Promise.all(this.#programs.map((program) => endProcess(program)))
    await ip([], `netns delete ${this.#namespace}`)
    await rm(this.#state, { recursive: true, force: true })
    await rm(join(etcRoot, this.#namespace), { recursive: true, force: true })
  }

  get #inside(): readonly string[] {
    return ['netns', 'exec', this.#namespace, process.execPath]
  }

  #start(args: readonly string[], env: NodeJS.ProcessEnv): Program {
    const { PATH = '' } = process.env
    const program = spawn('ip', [...this.#inside, ...args], {
      env: { PATH, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#programs.push(program)
    return program
  }
}

/** Runs commands of `ip`. */
async function ip(prefix: readonly string[], commands: string | readonly string[]): Promise<void> {
  const [file, ...args] = [...prefix, 'ip', '-batch', '-']
  await runCommand(file, args, { input: `${[commands].flat().join('\n')}\n` })
}
