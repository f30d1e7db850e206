import { spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClusterError } from '../provider.js'
import { machineFolders, machineScript, type Machine } from './machine-script.js'
import { markerVariable } from './names.js'

const pollMs = 20
const startTimeoutMs = 20_000

/** A machine that has been started and waits for its steps. */
export class StartingMachine {
  /** Process in whose network and mount namespace the machine is. */
  readonly pid: number
  readonly #input: Writable

  private constructor(pid: number, input: Writable) {
    this.pid = pid
    this.#input = input
  }

  /** Makes the namespaces of a machine. It ends with the last of its steps missing if this process ends before. */
  static async start(
    machine: Machine,
    marker: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<StartingMachine> {
    for (const { source } of machineFolders(machine)) mkdirSync(source, { recursive: true })
    const script = join(machine.folder, 'machine.sh')
    writeFileSync(script, machineScript(machine))
    const log = openSync(join(machine.folder, 'log/machine.log'), 'a')
    const isolated = ['--mount', '--net', '--ipc', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc']
    const child = spawn('unshare', [...isolated, 'sh', script], {
      // Its own session: Ctrl-C is meant for this process, which then takes the cluster down in order.
      detached: true,
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...marker },
      stdio: ['pipe', log, log],
    })
    closeSync(log)
    const failed = new Promise<never>((_, reject) => {
      child.once('error', (error) => reject(new ClusterError(`unshare could not be started: ${error.message}`)))
      child.once('exit', () => reject(new ClusterError(`machine ${machine.name} has ended: ${lastWords(machine)}`)))
    })
    // Only the start waits for it; later ends show in the state of the node.
    failed.catch(() => undefined)
    const input = child.stdin
    if (input === null) throw new Error('unshare has no standard input')
    input.on('error', () => undefined)
    await Promise.race([failed, hasOwnNetwork(child.pid, signal)])
    if (child.pid === undefined) throw new ClusterError(`machine ${machine.name} did not start`)
    writeFileSync(join(machine.folder, 'pid'), String(child.pid))
    child.unref()
    return new StartingMachine(child.pid, input)
  }

  /** Lets the next step begin. */
  async next(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#input.write('go\n', (error) => (error ? reject(error) : resolve()))
    })
  }

  /** From now on the machine does without this process. */
  leave(): void {
    this.#input.end()
  }
}

/** The process in whose namespaces a machine is, if it runs. */
export function machinePid(folder: string, name: string): number | undefined {
  const file = join(folder, 'pid')
  if (!existsSync(file)) return undefined
  const pid = Number(readFileSync(file, 'utf8'))
  // The number may be another's by now.
  return readEnvironment(pid).includes(`${markerVariable}=${name}`) ? pid : undefined
}

/** The environment that a process was started with; empty for one that has ended. */
export function readEnvironment(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
  } catch {
    return []
  }
}

async function hasOwnNetwork(pid: number | undefined, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + startTimeoutMs
  while (pid === undefined || networkOf(pid) === networkOf(process.pid)) {
    signal.throwIfAborted()
    if (performance.now() > deadline) throw new ClusterError('a machine got no network namespace')
    await sleep(pollMs)
  }
}

function networkOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`)
  } catch {
    return undefined
  }
}

function lastWords({ folder }: Machine): string {
  return readFileSync(join(folder, 'log/machine.log'), 'utf8').trim().slice(-1000)
}
