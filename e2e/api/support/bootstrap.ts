import { join } from 'node:path'
import {
  type KubernetesApi,
  type KubernetesManifest,
  type KubernetesObject,
  type ResourceType,
  resourceTypes,
} from '@osm-ts/kubernetes'
import { programs } from '../../../tools/programs.mjs'
import { ChildProgram, type ApiServer } from '../harness/index.js'
import { untilNoConflict } from './until-no-conflict.js'

/** Namespace of the control plane in these tests. */
export const osmNamespace = 'osm-system'

/** Spec of the preset that a chart would bring. */
export const presetSpec = {
  sidecar: {
    sidecarClass: 'envoy',
    logLevel: 'error',
    sidecarDrivers: [{ sidecarName: 'envoy', proxyServerPort: 15128 }],
  },
  traffic: { enableEgress: true, inboundPortExclusionList: [] },
  certificate: { serviceCertValidityDuration: '24h', certKeyBitSize: 2048 },
} as const

const root = join(import.meta.dirname, '../../..')
const pollMs = 25
const limitMs = 30_000

/** How to start one of the programs of this package. */
export interface StartOptions {
  readonly program: 'osm-bootstrap' | 'osm-preinstall' | 'osm-cleanup'
  readonly server: Pick<ApiServer, 'kubeconfigPath' | 'folder'>
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a program as a pod would, with the rights of the administrator. */
export function startProgram({ program, server, args, env = {} }: StartOptions): ChildProgram {
  return new ChildProgram({
    name: program,
    file: process.execPath,
    args: [join(root, programs[program]?.bundle ?? ''), `--kubeconfig=${server.kubeconfigPath}`, ...args],
    env: { PATH: process.env.PATH ?? '', ...env },
    logFile: join(server.folder, `logs/${program}.${String(performance.now())}.log`),
  })
}

/** Starts osm-bootstrap of mesh `osm`. */
export function startBootstrap(server: StartOptions['server'], ...args: readonly string[]): ChildProgram {
  const mesh = ['--mesh-name=osm', `--osm-namespace=${osmNamespace}`, '--osm-version=v1.0.0']
  const servers = ['--bind-address=127.0.0.1', '--health-port=0']
  return startProgram({ program: 'osm-bootstrap', server, args: [...mesh, ...servers, ...args] })
}

/** Waits until a bootstrap has brought in everything; gives the address of its health server. */
export async function untilReady(bootstrap: ChildProgram): Promise<string> {
  await until(() => bootstrap.log().includes('the cluster has what the mesh needs') || !bootstrap.isRunning, bootstrap)
  const port = /"healthPort":(\d+)/.exec(bootstrap.log())?.[1]
  if (!bootstrap.isRunning || port === undefined) throw new Error(`${bootstrap.name} ended:\n${bootstrap.lastWords()}`)
  return `http://127.0.0.1:${port}`
}

/** Waits for something; a bound, not a duration. Says how long it took. */
export async function until(condition: () => boolean | Promise<boolean>, program?: ChildProgram): Promise<number> {
  const start = performance.now()
  while (!(await condition())) {
    if (performance.now() - start > limitMs)
      throw new Error(`still not: ${condition.toString()}\n${program?.lastWords() ?? ''}`)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  return performance.now() - start
}

/** Reads and writes objects by name, whatever their kind. */
export class Objects {
  readonly #api: KubernetesApi
  readonly #signal: AbortSignal

  constructor(api: KubernetesApi, signal: AbortSignal) {
    this.#api = api
    this.#signal = signal
  }

  get(type: ResourceType, name: string): Promise<KubernetesObject | undefined> {
    return this.#api.get(type, { namespace: type.namespaced ? osmNamespace : '', name }, this.#signal)
  }

  create(type: ResourceType, manifest: KubernetesManifest): Promise<KubernetesObject> {
    return this.#api.create(type, manifest, { signal: this.#signal })
  }

  /** Edits an object as kubectl would: from what it is now. */
  async edit(type: ResourceType, name: string, change: (object: KubernetesObject) => KubernetesObject): Promise<void> {
    await untilNoConflict(async () => {
      const live = await this.get(type, name)
      if (live === undefined) throw new Error(`no ${type.kind} ${name}`)
      return this.#api.replace(type, change(live), { signal: this.#signal })
    })
  }

  async delete(type: ResourceType, name: string): Promise<void> {
    const namespace = type.namespaced ? osmNamespace : ''
    await this.#api.delete(type, { namespace, name }, { signal: this.#signal })
  }

  /** What a chart brings before the bootstrap starts. */
  async putPreset(spec: unknown): Promise<void> {
    const name = 'preset-mesh-config'
    const metadata = { namespace: osmNamespace, name }
    const manifest = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { [`${name}.json`]: JSON.stringify(spec) },
    }
    if ((await this.get(resourceTypes.ConfigMap, name)) === undefined)
      await this.create(resourceTypes.ConfigMap, manifest)
    else await this.edit(resourceTypes.ConfigMap, name, (live) => ({ ...live, data: manifest.data }))
  }

  async createNamespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.create(resourceTypes.Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  }

  /** PEM of the root that signs for the control plane. */
  async controlPlaneRoot(): Promise<string> {
    const secret = await this.get(resourceTypes.Secret, 'osm-ca-bundle-control-plane')
    const data = (secret?.data ?? {}) as Readonly<Record<string, string>>
    return Buffer.from(data['ca.crt'] ?? '', 'base64').toString()
  }

  /** PEM of the roots that the API server verifies a webhook by. */
  async trusted(type: ResourceType, name: string): Promise<string> {
    const [webhook] = webhooksOf(await this.get(type, name))
    return Buffer.from(webhook?.clientConfig.caBundle ?? '', 'base64').toString()
  }
}

/** A webhook, as far as these tests read it. */
export interface SeenWebhook {
  readonly name: string
  readonly clientConfig: { readonly caBundle?: string }
  readonly [field: string]: unknown
}

/** Webhooks of a configuration. */
export function webhooksOf(object: KubernetesObject | undefined): readonly SeenWebhook[] {
  return (object?.webhooks ?? []) as readonly SeenWebhook[]
}
