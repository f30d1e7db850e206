import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { eventually } from '@osm-ts/driver-api/toolkit'

import { endProcess } from '../../api/harness/child-program.js'
import { run } from './kernel.js'
import { envoyBinary, type LoadedClass, programs, startTestMesh, type TestMesh } from './mesh.js'
import { throughProxy } from './traffic.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './yaml.js'

/** Port of the workload of a machine, and of those of its mesh. */
export const MACHINE_PORT = 8080
/** The command, as users have it. */
export const osmProgram = fileURLToPath(new URL('../../../packages/cli/dist/osm.mjs', import.meta.url))

const http = { protocol: 'http' }
const rules = [{ kind: 'HTTPRouteGroup', name: 'any' } as const]

/** What a test adds to {@link storeMesh}. */
export interface StoreMeshOptions {
  readonly sidecar?: Readonly<Record<string, unknown>>
  readonly traffic?: Readonly<Record<string, unknown>>
  /** Annotations of the account of the store. */
  readonly storeAnnotations?: Readonly<Record<string, string>>
}

/** A mesh whose store runs on a machine: a client may call it, a stranger may not, and it may call the books. */
export function storeMesh({ sidecar, traffic, storeAnnotations }: StoreMeshOptions = {}): readonly string[] {
  return [
    meshConfig({
      ...(sidecar !== undefined && { sidecar }),
      traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false, ...traffic },
    }),
    ...['client', 'stranger', 'books'].map((name) => account(`shop/${name}`)),
    account('shop/store', storeAnnotations),
    routeGroup('shop/any', [{ name: 'any', pathRegex: '.*', methods: ['*'] }]),
    trafficTarget('shop/store', { to: 'shop/store', from: ['shop/client'], rules }),
    trafficTarget('shop/books', { to: 'shop/books', from: ['shop/store'], rules }),
    workload('shop/client', { program: programs.idle }),
    workload('shop/stranger', { program: programs.idle }),
    workload('shop/books', { program: programs.http, port: MACHINE_PORT }),
    service('shop/store', 'store', MACHINE_PORT, http),
    service('shop/books', 'books', MACHINE_PORT, http),
  ]
}

/** How a program of the machine ended, with what it wrote: to standard error if it failed. */
export interface Ended {
  readonly code: number | null
  readonly output: string
}

/** Where the machine of a test is. */
export interface MachinePlace {
  /** Words before a program that runs on the machine. */
  readonly inside: readonly string[]
  /** Address of the mesh. */
  readonly mesh: string
}

/** The machine of a test, which joins by `osm machine join`, and the mesh that it joins. */
export class TestMachine {
  /** What the last `osm machine join` has written to standard error and to standard output. */
  said = ''
  printed = ''
  readonly folder: string
  readonly mesh: TestMesh
  readonly #place: MachinePlace
  readonly #classArgs: readonly string[]
  readonly #path: string | undefined
  readonly #children: ChildProcess[] = []

  private constructor(
    folder: string,
    mesh: TestMesh,
    place: MachinePlace,
    { classArgs, path }: { readonly classArgs?: readonly string[]; readonly path?: string },
  ) {
    this.folder = folder
    this.mesh = mesh
    this.#place = place
    this.#classArgs = classArgs ?? ['--envoy', envoyBinary()]
    this.#path = path
  }

  /**
   * Starts the mesh, in explicit mode.
   *
   * @param options - `classArgs` are the options by which `osm machine join` finds its sidecar, Envoy if absent; `path` is put before the PATH of the command; the folder is made if
   *   absent, and removed by {@link close}
   */
  static async start(
    place: MachinePlace,
    documents: readonly string[],
    options: {
      readonly folder?: string
      readonly classArgs?: readonly string[]
      readonly path?: string
      readonly loaded?: LoadedClass
      readonly environment?: Readonly<Record<string, string>>
    } = {},
  ): Promise<TestMachine> {
    const { loaded, environment, folder = await TestMachine.folder() } = options
    const settings = { machineAddress: place.mesh, ...(environment !== undefined && { environment }) }
    const mesh = await startTestMesh({ 'mesh.yaml': documents }, { loaded, ...settings })
    return new TestMachine(folder, mesh, place, options)
  }

  /** A folder for tokens and states of machines. */
  static folder(): Promise<string> {
    return mkdtemp(join(tmpdir(), 'osm-machine-'))
  }

  /** State folder of a machine of that name. */
  state(name: string): string {
    return join(this.folder, name)
  }

  /** Runs a program of the machine to its end. */
  inside(...argv: readonly string[]): Ended {
    const { status, stdout, stderr } = spawnSync('ip', [...this.#place.inside, ...argv], {
      encoding: 'utf8',
      timeout: 120_000,
    })
    return { code: status, output: status === 0 ? stdout : stderr }
  }

  /** Runs `osm` on the machine to its end. */
  osm(...args: readonly string[]): Ended {
    return this.inside(process.execPath, osmProgram, ...args)
  }

  /** Status and server of a plain client of the machine. */
  call(url: string, ...more: readonly string[]): string {
    const format = '%{http_code} %header{server}'
    const { code, output } = this.inside('curl', '-s', '-m', '10', '-o', '/dev/null', '-w', format, ...more, url)
    return code === 0 ? output.trim() : `curl ${String(code)}`
  }

  /** Starts a program of the machine that ends with the test. Resolves when it has said something. */
  async serve(program: string, environment: Readonly<Record<string, string>>): Promise<void> {
    await this.#listening('ip', [...this.#place.inside, process.execPath, program], environment)
  }

  /** The same beside the mesh. */
  async serveOutside(program: string, environment: Readonly<Record<string, string>>): Promise<void> {
    await this.#listening(process.execPath, [program], environment)
  }

  async #listening(file: string, args: readonly string[], environment: Readonly<Record<string, string>>) {
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    const child = spawn(file, args, { env: { ...process.env, ...environment }, stdio: [...stdio] })
    this.#children.push(child)
    await once(child.stdout, 'data')
  }

  /** Makes a token for the store. */
  token(): string {
    const grant = ['-n', 'shop', '-a', 'store', '-l', 'app=store']
    return run(process.execPath, [osmProgram, 'machine', 'token', '--state', this.mesh.stateFolder, ...grant])
  }

  /** Writes such a token to a file. Returns the options that name it. */
  async tokenFile(text = this.token()): Promise<readonly string[]> {
    const path = join(this.folder, 'token')
    await writeFile(path, text, { mode: 0o600 })
    return ['--token-file', path]
  }

  /** Words after `osm` by which a machine of that name joins. */
  joinArgs(name: string, more: readonly string[] = []): readonly string[] {
    const url = this.mesh.mesh.machinesUrl() ?? ''
    const common = ['--state', this.state(name), '--name', name, '--port', String(MACHINE_PORT)]
    return ['machine', 'join', url, ...common, ...this.#classArgs, ...more]
  }

  /** Starts `osm machine join`. */
  start(name: string, more: readonly string[] = []): ChildProcess {
    const args = [process.execPath, osmProgram, ...this.joinArgs(name, more)]
    const path = this.#path === undefined ? {} : { PATH: `${this.#path}:${process.env.PATH ?? ''}` }
    const child = spawn('ip', [...this.#place.inside, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...path },
    })
    this.#children.push(child)
    this.said = ''
    this.printed = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => (this.said += piece))
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (this.printed += piece))
    return child
  }

  /** Who answers a workload of the mesh that calls the store, or the status. */
  async ask(from: string, url = 'http://store.shop:8080/'): Promise<string> {
    const { status, server } = await throughProxy(this.mesh.proxyOf(from), url)
    return status === 200 ? (server ?? '') : String(status)
  }

  /** Waits until the machine answers. The sidecar of a run that was killed answers too, until another run replaces it. */
  async untilAnswered(): Promise<void> {
    await eventually(
      async () => (this.said.includes('Ready: callers') ? this.ask('shop/client') : 'not ready'),
      (by) => by === 'machine',
      { what: 'an answer of the machine' },
    ).catch((error: unknown) => {
      throw new Error(`osm machine join said: ${this.said}`, { cause: error })
    })
  }

  /** Ends a program of the test, and waits for its end. */
  async end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await endProcess(child, signal)
  }

  /** Ends all of it. */
  async close(): Promise<void> {
    for (const child of this.#children) await this.end(child)
    await this.mesh.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}
