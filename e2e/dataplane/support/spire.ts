import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { Registration } from '@osm-ts/controller/testing'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { endProcess } from '../../api/harness/child-program.js'
import { freePort } from '../../api/support/controller-process.js'

const execute = promisify(execFile)
const TRUST_DOMAIN = 'cluster.local'

/** A root of SPIRE: what `spire-server localauthority x509` calls an authority. */
interface LocalAuthority {
  readonly authority_id: string
}

/** A server and an agent of SPIRE on this machine. The agent knows workloads by the user that they run as. */
export class Spire {
  readonly agentSocket: string
  readonly #folder: string
  readonly #serverSocket: string
  readonly #port: number
  readonly #output: string[] = []
  readonly #programs: ChildProcess[] = []
  #parentId = ''

  private constructor(folder: string, port: number) {
    this.#folder = folder
    this.#port = port
    this.agentSocket = join(folder, 'agent.sock')
    this.#serverSocket = join(folder, 'server.sock')
  }

  static async start(folder: string): Promise<Spire> {
    const spire = new Spire(folder, await freePort())
    try {
      await spire.#startServer()
      await spire.#startAgent()
    } catch (error) {
      await spire.stop()
      throw new Error(`SPIRE did not start:\n${spire.#output.join('').slice(-4_000)}`, { cause: error })
    }
    return spire
  }

  /** Registers identities for all programs of the user that runs the tests: a sidecar asks for its own by name. */
  async register(entries: readonly Registration[]): Promise<void> {
    const path = join(this.#folder, 'entries.json')
    await writeFile(
      path,
      JSON.stringify({
        entries: entries.map(({ spiffeId, dnsNames }) => ({
          parent_id: this.#parentId,
          spiffe_id: spiffeId,
          dns_names: dnsNames,
          selectors: [{ type: 'unix', value: `uid:${process.getuid?.() ?? 0}` }],
        })),
      }),
    )
    await this.#server('entry', 'create', '-data', path)
  }

  /** A next root is in the bundle, and does not sign. */
  async prepareRoot(): Promise<void> {
    await this.#server('localauthority', 'x509', 'prepare')
  }

  /** The prepared root signs. Agents replace what the former has signed, because it is tainted. */
  async activateRoot(): Promise<void> {
    const { prepared, active } = await this.#authorities()
    if (prepared === undefined) throw new Error('no root is prepared')
    await this.#server('localauthority', 'x509', 'activate', '-authorityID', prepared.authority_id)
    await this.#server('localauthority', 'x509', 'taint', '-authorityID', active.authority_id)
  }

  /** The former root is no longer in the bundle. */
  async revokeRoot(): Promise<void> {
    const { old } = await this.#authorities()
    if (old === undefined) throw new Error('there is no former root')
    await this.#server('localauthority', 'x509', 'revoke', '-authorityID', old.authority_id)
  }

  /** What both have logged. */
  get log(): string {
    return this.#output.join('')
  }

  async stop(): Promise<void> {
    await Promise.all(this.#programs.map((program) => endProcess(program, 'SIGKILL')))
  }

  async #startServer(): Promise<void> {
    const data = join(this.#folder, 'server')
    await mkdir(data)
    const config = await this.#write(
      'server.conf',
      `server {
  bind_address = "127.0.0.1"
  bind_port = "${this.#port}"
  socket_path = "${this.#serverSocket}"
  trust_domain = "${TRUST_DOMAIN}"
  data_dir = "${data}"
  log_level = "INFO"
  ca_ttl = "24h"
  default_x509_svid_ttl = "1h"
}
plugins {
  DataStore "sql" {
    plugin_data { database_type = "sqlite3", connection_string = "${data}/store.sqlite3" }
  }
  NodeAttestor "join_token" { plugin_data {} }
  KeyManager "memory" { plugin_data {} }
}
`,
    )
    this.#run(binary('SPIRE_SERVER_BIN'), ['run', '-config', config])
    await untilHealthy(() => this.#server('healthcheck'), 'the server of SPIRE')
  }

  async #startAgent(): Promise<void> {
    const data = join(this.#folder, 'agent')
    await mkdir(data)
    const bundle = await this.#write('bundle.pem', await this.#server('bundle', 'show', '-format', 'pem'))
    const config = await this.#write(
      'agent.conf',
      `agent {
  server_address = "127.0.0.1"
  server_port = "${this.#port}"
  socket_path = "${this.agentSocket}"
  trust_bundle_path = "${bundle}"
  trust_domain = "${TRUST_DOMAIN}"
  data_dir = "${data}"
  log_level = "INFO"
}
plugins {
  NodeAttestor "join_token" { plugin_data {} }
  KeyManager "memory" { plugin_data {} }
  WorkloadAttestor "unix" { plugin_data {} }
}
`,
    )
    const token = /Token: (\S+)/.exec(await this.#server('token', 'generate'))?.[1] ?? ''
    this.#parentId = `spiffe://${TRUST_DOMAIN}/spire/agent/join_token/${token}`
    const agent = binary('SPIRE_AGENT_BIN')
    this.#run(agent, ['run', '-config', config, '-joinToken', token])
    await untilHealthy(() => execute(agent, ['healthcheck', '-socketPath', this.agentSocket]), 'the agent of SPIRE')
  }

  async #authorities(): Promise<{
    readonly active: LocalAuthority
    readonly prepared?: LocalAuthority
    readonly old?: LocalAuthority
  }> {
    return JSON.parse(await this.#server('localauthority', 'x509', 'show', '-output', 'json')) as never
  }

  async #server(...args: readonly string[]): Promise<string> {
    const { stdout } = await execute(binary('SPIRE_SERVER_BIN'), [...args, '-socketPath', this.#serverSocket])
    return stdout
  }

  async #write(name: string, text: string): Promise<string> {
    const path = join(this.#folder, name)
    await writeFile(path, text)
    return path
  }

  #run(program: string, args: readonly string[]): void {
    const child = spawn(program, [...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => void this.#output.push(text.toString()))
    this.#programs.push(child)
  }
}

function untilHealthy(check: () => Promise<unknown>, what: string): Promise<boolean> {
  const isHealthy = (): Promise<boolean> =>
    check().then(
      () => true,
      () => false,
    )
  return eventually(isHealthy, Boolean, { what })
}

function binary(variable: 'SPIRE_AGENT_BIN' | 'SPIRE_SERVER_BIN'): string {
  const path = process.env[variable] ?? ''
  if (path === '') throw new Error(`${variable} names no program of SPIRE; run the tests by \`npm test\``)
  return path
}
