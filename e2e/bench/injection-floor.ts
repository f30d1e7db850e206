import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'

import { startIssuer } from './issuer.js'

/** A server as a process that does the least of what an injector does, see injection-floor-main.ts. */
export class InjectionFloor {
  static readonly serverName = 'floor.osm-system.svc'
  readonly port: number
  /** Verifies it, PEM. */
  readonly ca: string
  readonly #child: ChildProcess
  readonly #lines: Interface

  private constructor(port: number, ca: string, child: ChildProcess, lines: Interface) {
    this.port = port
    this.ca = ca
    this.#child = child
    this.#lines = lines
  }

  /**
   * @param program - the bundle of injection-floor-main.ts
   * @param api - URL of the API server that it writes to
   */
  static async start(program: string, api: string): Promise<InjectionFloor> {
    const { ca, cert, key } = await servingKey()
    const child = spawn(process.execPath, [program, JSON.stringify({ api, key, cert })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`the floor has ended with ${String(code)}`)
    })
    const [port] = (await Promise.race([once(lines, 'line'), ended])) as [string]
    return new InjectionFloor(Number(port), ca, child, lines)
  }

  /** Seconds of processor time that it has taken. */
  async cpuSeconds(): Promise<number> {
    const answer = once(this.#lines, 'line')
    this.#child.stdin?.write('\n')
    return Number(((await answer) as [string])[0])
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.stdin?.end()
    await exited
  }
}

async function servingKey(): Promise<{ readonly ca: string; readonly cert: string; readonly key: string }> {
  const end = new AbortController()
  try {
    const { issuer, roots } = await startIssuer(end.signal)
    const certificate = await issuer.issueCertificate(
      { kind: 'control-plane', name: 'floor', dnsNames: [InjectionFloor.serverName], ipAddresses: [] },
      { keep: false },
    )
    return { ca: roots, cert: certificate.chain, key: certificate.privateKey() }
  } finally {
    end.abort()
  }
}
