import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sweepMeshNetworks, type MeshNetwork } from '@osm-ts/standalone/testing'
import { askSecurely } from '../support/ask-securely.js'
import { ApiServer, type ApiServerDescription } from './api-server.js'
import { auditPolicy } from './audit-log.js'
import { ChildProgram } from './child-program.js'
import { writeCredentials, type ApiServerCredentials } from './credentials.js'
import { writeKubeconfig } from './kubeconfig.js'
import { createServerNetwork } from './networks.js'
import { createRunFolder, sweepRunFolders } from './run-folder.js'

/** Where the programs are. */
export interface ApiServerPrograms {
  readonly etcd: string
  readonly apiServer: string
}

/** Ports on an address that no one else has. */
const ports = { apiServer: 6443, etcd: 2379, etcdPeers: 2380 }
const startTimeoutMs = 90_000
const pollMs = 100

/** The programs that set-up found; see tools/setup/kubernetes.mjs. */
export function programsFrom(env: NodeJS.ProcessEnv): ApiServerPrograms {
  const { ETCD_BIN: etcd, KUBE_APISERVER_BIN: apiServer } = env
  if (etcd === undefined || apiServer === undefined)
    throw new Error('ETCD_BIN and KUBE_APISERVER_BIN are not set; run npm run test:api')
  return { etcd, apiServer }
}

/**
 * Starts etcd and an API server with credentials, addresses and files of their own. Several may run at a time. First removes what runs
 * that were killed have left.
 */
export async function startApiServer(programs: ApiServerPrograms, signal: AbortSignal): Promise<OwnApiServer> {
  await sweepMeshNetworks()
  sweepRunFolders()
  const { network, serviceRange } = await createServerNetwork(signal)
  const folder = createRunFolder()
  let server: OwnApiServer | undefined
  try {
    const credentials = await writeCredentials(folder, network.hostAddress)
    server = new OwnApiServer({ programs, network, folder, credentials, serviceRange })
    await server.start(signal)
    return server
  } catch (error) {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
    await network.destroy()
    throw error
  }
}

interface OwnApiServerOptions {
  readonly programs: ApiServerPrograms
  readonly network: MeshNetwork
  readonly folder: string
  readonly credentials: ApiServerCredentials
  readonly serviceRange: string
}

/** An API server that anyone who started it may also stop, pause and kill. */
export class OwnApiServer {
  readonly description: ApiServerDescription
  readonly #options: OwnApiServerOptions
  readonly #etcd: ChildProgram
  #apiServer: ChildProgram | undefined
  #client: ApiServer | undefined

  constructor(options: OwnApiServerOptions) {
    const { network, folder, credentials, serviceRange } = options
    const address = network.hostAddress
    const url = `https://${address}:${String(ports.apiServer)}`
    const { caPem, adminToken: token } = credentials
    this.#options = options
    this.description = {
      url,
      address,
      serviceRange,
      caPem,
      webhookClientCaPem: credentials.webhookClientCaPem,
      kubeconfigPath: writeKubeconfig(join(folder, 'admin.kubeconfig'), { url, caPem, token }),
      folder,
      auditLog: join(folder, 'audit.log'),
    }
    writeFileSync(join(folder, 'audit-policy.json'), auditPolicy)
    this.#etcd = startEtcd(options)
  }

  /** Uses it. */
  get client(): ApiServer {
    if (this.#client === undefined) throw new Error('the API server has not been started')
    return this.#client
  }

  /** Starts it, or starts it again after {@link kill}: with all that it knew. */
  async start(signal: AbortSignal): Promise<void> {
    const { description } = this
    this.#apiServer = new ChildProgram({
      name: 'kube-apiserver',
      file: this.#options.programs.apiServer,
      args: apiServerFlags(this.#options, description),
      env: { PATH: process.env.PATH ?? '' },
      logFile: join(description.folder, 'logs/kube-apiserver.log'),
    })
    await this.#ready(signal)
    this.#client ??= await ApiServer.connect(description)
  }

  /** Ends it as a power cut would. What it stored stays. */
  async kill(): Promise<void> {
    await this.#apiServer?.kill()
  }

  /** Kills it and starts it again. */
  async restart(signal: AbortSignal): Promise<void> {
    await this.kill()
    await this.start(signal)
  }

  /** Stops it in its tracks: connections stay open and nothing is answered. */
  async pause(): Promise<void> {
    await this.#apiServer?.pause()
  }

  resume(): void {
    this.#apiServer?.signal('SIGCONT')
  }

  /** Ends it and removes everything of it from this machine. */
  async stop(): Promise<void> {
    // A polite end would wait for the watches of all clients, and there is nothing to be kept.
    await this.kill()
    await this.#etcd.kill()
    await this.#options.network.destroy()
    rmSync(this.description.folder, { recursive: true, force: true })
  }

  /** What the API server and etcd printed last, for messages. */
  lastWords(): string {
    const programs = [this.#etcd, ...(this.#apiServer === undefined ? [] : [this.#apiServer])]
    return programs.map((program) => `${program.name}:\n${program.lastWords()}`).join('\n')
  }

  async #ready(signal: AbortSignal): Promise<void> {
    const deadline = performance.now() + startTimeoutMs
    while (!(await isReady(this.description, this.#options.credentials.adminToken))) {
      signal.throwIfAborted()
      const isLate = performance.now() > deadline
      if (isLate || this.#apiServer?.isRunning !== true || !this.#etcd.isRunning)
        throw new Error(`the API server ${isLate ? 'did not become ready' : 'ended'}.\n${this.lastWords()}`)
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  }
}

function startEtcd({ programs, network, folder }: OwnApiServerOptions): ChildProgram {
  const at = (port: number): string => `http://${network.hostAddress}:${String(port)}`
  const data = join(folder, 'etcd')
  mkdirSync(data, { mode: 0o700 })
  const flags = {
    name: 'etcd',
    'data-dir': data,
    'listen-client-urls': at(ports.etcd),
    'advertise-client-urls': at(ports.etcd),
    'listen-peer-urls': at(ports.etcdPeers),
    'initial-advertise-peer-urls': at(ports.etcdPeers),
    'initial-cluster': `etcd=${at(ports.etcdPeers)}`,
    'log-level': 'warn',
  }
  return new ChildProgram({
    name: 'etcd',
    file: programs.etcd,
    args: Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
    env: { PATH: process.env.PATH ?? '' },
    logFile: join(folder, 'logs/etcd.log'),
  })
}

function apiServerFlags(
  { network, folder, credentials, serviceRange }: OwnApiServerOptions,
  { auditLog }: ApiServerDescription,
): readonly string[] {
  const flags = {
    'etcd-servers': `http://${network.hostAddress}:${String(ports.etcd)}`,
    'bind-address': network.hostAddress,
    'advertise-address': network.hostAddress,
    'secure-port': String(ports.apiServer),
    'cert-dir': join(folder, 'certificates'),
    'tls-cert-file': credentials.certificateFile,
    'tls-private-key-file': credentials.keyFile,
    'token-auth-file': credentials.tokenFile,
    'authorization-mode': 'RBAC',
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-signing-key-file': credentials.signingKeyFile,
    'service-account-key-file': credentials.verifyingKeyFile,
    'service-cluster-ip-range': serviceRange,
    // Webhooks are called at the endpoints of their services: nothing here translates service addresses.
    'enable-aggregator-routing': 'true',
    'feature-gates': 'PodCertificateRequest=true',
    'runtime-config': 'certificates.k8s.io/v1alpha1=true',
    'allow-privileged': 'true',
    'audit-policy-file': join(folder, 'audit-policy.json'),
    'audit-log-path': auditLog,
    'admission-control-config-file': credentials.admissionFile,
    profiling: 'false',
  }
  return Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
}

/** True when it says so itself. */
function isReady({ url, caPem: roots }: ApiServerDescription, token: string): Promise<boolean> {
  const signal = AbortSignal.timeout(2_000)
  return askSecurely(`${url}/readyz`, { roots, serverName: 'kubernetes', signal, token }).then(
    ({ status }) => status === 200,
    () => false,
  )
}
