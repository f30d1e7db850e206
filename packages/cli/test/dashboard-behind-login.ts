import {
  createLogger,
  defaultCertificateSettings,
  MemoryCaStore,
  MeshCertificateManager,
  Metrics,
  parseMeshDomains,
  systemClock,
  TresorProvider,
} from '@osm-ts/core'
import { dashboardLimits, listen } from '@osm-ts/program'

import { PageAccess } from '../src/dashboard/deployment/page-access.js'
import { type PageServer, pageServer } from '../src/dashboard/deployment/page-server.js'
import { readPageFiles } from '../src/dashboard/page-files.js'
import { watchedMesh } from '../src/dashboard/start-dashboard.js'
import { findMesh, isAlive } from '../src/state/find-mesh.js'

/** What the deployment is served with. */
export interface DashboardBehindLoginOptions {
  /** Of a mesh that runs on this machine. */
  readonly state: string
  /** Holds the files of the page. */
  readonly programFolder: string
  /** Answers as the API server: who holds a token, and whether they may see the page. */
  readonly review: (token: string) => 'permitted' | 'forbidden' | 'unknown'
}

const audience = 'osm-dashboard'
/** Answers of the API server count for this long. */
const KEPT_MS = 30_000

/** The page of the deployment osm-dashboard, which shows a mesh of this machine to those whose token an API server accepts. */
export class DashboardBehindLogin {
  readonly url: string
  readonly #server: PageServer
  readonly #provider: TresorProvider
  readonly #abort: AbortController
  readonly #time: { ms: number }

  private constructor(
    port: number,
    parts: { server: PageServer; provider: TresorProvider; abort: AbortController; time: { ms: number } },
  ) {
    this.url = `https://localhost:${port}/`
    this.#server = parts.server
    this.#provider = parts.provider
    this.#abort = parts.abort
    this.#time = parts.time
  }

  static async start({ state, programFolder, review }: DashboardBehindLoginOptions): Promise<DashboardBehindLogin> {
    const abort = new AbortController()
    const { signal } = abort
    const time = { ms: 0 }
    const logger = createLogger('osm-dashboard', 'error', { write: (line) => void process.stderr.write(line) })
    const store = new MemoryCaStore()
    const provider = await TresorProvider.open({ store, clock: systemClock, rootKey: { algorithm: 'ECDSA' } })
    const manager = new MeshCertificateManager({
      provider,
      settings: () => defaultCertificateSettings,
      domains: parseMeshDomains({ trustDomain: 'cluster.local', clusterDomain: 'cluster.local' }),
      clock: systemClock,
      random: Math.random,
      signal,
    })
    const certificate = await manager.issueCertificate(
      { kind: 'control-plane', name: 'osm-dashboard', dnsNames: ['localhost'], ipAddresses: [] },
      { keep: false },
    )
    const mesh = findMesh({ state, cwd: state, isAlive })
    const server = pageServer({
      watched: await watchedMesh({ cwd: state, version: '0.0.0' }, { kind: 'local', mesh }, { signal }),
      files: await readPageFiles(programFolder),
      access: new PageAccess({
        api: { post: async (path, body) => answer(path, body, review) },
        audience,
        permission: {
          verb: 'get',
          group: '',
          resource: 'meshconfigs',
          namespace: 'osm-system',
          name: 'osm-mesh-config',
        },
        monotonic: () => time.ms,
      }),
      audience,
      credential: { cert: certificate.chain, key: certificate.privateKey() },
      logger,
      signal,
    })
    const limits = { name: 'dashboard', limits: dashboardLimits, metrics: new Metrics(), logger }
    const port = await listen(server.app, { host: '127.0.0.1', port: 0 }, limits)
    return new DashboardBehindLogin(port, { server, provider, abort, time })
  }

  /** Has answers of the API server that are remembered count no more. */
  forgetReviews(): void {
    this.#time.ms += KEPT_MS + 1
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await Promise.all([this.#server.app.close(), this.#server.stopped])
    this.#provider.close()
  }
}

/** A TokenReview names the token as the user, so that the SubjectAccessReview can tell who asks. */
function answer(path: string, body: unknown, review: DashboardBehindLoginOptions['review']): unknown {
  const { token = '', user = '' } = (body as { readonly spec: { readonly token?: string; readonly user?: string } })
    .spec
  if (path.endsWith('/subjectaccessreviews')) return { status: { allowed: review(user) === 'permitted' } }
  if (review(token) === 'unknown') return { status: {} }
  return { status: { authenticated: true, audiences: [audience], user: { username: token, uid: '', groups: [] } } }
}
