import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:https'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** What a subscription of the stand-in holds, in the form of the REST API. */
export interface Fleet {
  readonly virtualMachines?: readonly object[]
  readonly scaleSets?: readonly object[]
  readonly networkInterfaces?: readonly object[]
  readonly scaleSetInstances?: Readonly<Record<string, readonly object[]>>
  readonly scaleSetInterfaces?: Readonly<Record<string, readonly object[]>>
}

/** What the stand-in serves, and how it fails. */
export interface AzureState {
  readonly subscriptions: Readonly<Record<string, Fleet>>
  readonly faults?: {
    readonly throttleSeconds?: number
    readonly forbidden?: boolean
    readonly revoked?: boolean
    readonly endlessPages?: boolean
    readonly failingPaths?: readonly string[]
  }
}

/** Azure Resource Manager and its token endpoint, made of the fakes of Microsoft's SDK: tools/clouds/go/azure. */
export class AzureStandIn {
  readonly url: string
  /** In PEM. */
  readonly certificate: string
  readonly #process: ChildProcessByStdio<Writable, Readable, null>

  private constructor(
    child: ChildProcessByStdio<Writable, Readable, null>,
    { url, certificate }: { readonly url: string; readonly certificate: string },
  ) {
    this.#process = child
    this.url = url
    this.certificate = certificate
  }

  /** Starts the program that set-up has built. */
  static async start(): Promise<AzureStandIn> {
    const program = process.env.OSM_AZURE_STAND_IN
    if (program === undefined) throw new Error('OSM_AZURE_STAND_IN is not set; "npm test -- integration" sets it')
    const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] })
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    return new AzureStandIn(child, JSON.parse(line) as { url: string; certificate: string })
  }

  /** Replaces everything that it serves, and forgets calls. */
  async put(state: AzureState): Promise<void> {
    await this.#send('PUT', '/control/state', JSON.stringify(state))
  }

  /** Paths of calls to Resource Manager since the last state was put. */
  async calls(): Promise<readonly string[]> {
    return JSON.parse(await this.#send('GET', '/control/calls')) as string[]
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.stdin.end()
    await ended
  }

  async #send(method: string, path: string, body?: string): Promise<string> {
    const sent = request(new URL(path, this.url), { method, ca: this.certificate })
    sent.end(body)
    const [response] = (await once(sent, 'response')) as [Readable & { readonly statusCode: number }]
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`)
    return text
  }
}
