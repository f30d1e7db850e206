import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

import { endProcess } from '../api/harness/child-program.js'

/** osm-injector as a process. */
export class InjectorProgram {
  readonly pid: number
  readonly webhookPort: number
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, webhookPort: number) {
    this.#child = child
    this.pid = child.pid ?? 0
    this.webhookPort = webhookPort
  }

  /** Starts one that writes as many Secrets as it can. Resolves when it answers reviews. */
  static async start(
    bundle: string,
    { kubeconfig, address }: { readonly kubeconfig: string; readonly address: string },
  ): Promise<InjectorProgram> {
    const flags = [
      `--kubeconfig=${kubeconfig}`,
      '--mesh-name=osm',
      '--osm-namespace=osm-system',
      `--bind-address=${address}`,
      '--webhook-port=0',
      '--health-port=0',
      '--secret-rate=0',
      '--namespace-secret-rate=0',
    ]
    const child = spawn(process.execPath, [bundle, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] })
    const seen: string[] = []
    const lines = createInterface({ input: child.stderr })
    return new Promise((resolve, reject) => {
      child.once('exit', () => reject(new Error(`osm-injector has ended: ${seen.join('\n')}`)))
      lines.on('line', (line) => {
        if (seen.length < 20) seen.push(line)
        const { port, message } = parsed(line)
        if (port === undefined || message !== 'injecting sidecars') return
        resolve(new InjectorProgram(child, port))
        // Anyone who stops reading would stop the program with a later line, and anyone who reads a line for each review takes the processor from it.
        lines.close()
        child.stderr.resume()
      })
    })
  }

  async stop(): Promise<void> {
    await endProcess(this.#child)
  }
}

function parsed(line: string): { readonly port?: number; readonly message?: string } {
  return line.startsWith('{') ? (JSON.parse(line) as ReturnType<typeof parsed>) : {}
}
