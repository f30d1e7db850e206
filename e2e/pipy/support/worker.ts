import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, cp, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Credential } from '@osm-ts/driver-api'

import { endProcess } from '../../api/harness/child-program.js'
import { noteCrash } from '../../dataplane/support/crashes.js'

const codebase = fileURLToPath(new URL('../../../packages/driver-pipy/codebase', import.meta.url))

/** A worker may hang when it ends, so that nothing waits for it forever. */
const LONGEST_LIFE_SECONDS = 600

/** The real Pipy. */
function pipyBinary(): string {
  const binary = process.env.PIPY_BIN
  if (binary === undefined || binary === '')
    throw new Error('PIPY_BIN names no Pipy; run the tests by `npm run test:pipy`')
  return binary
}

/** What a worker shows to its control plane, and how it knows it. */
export interface WorkerBootstrap {
  readonly channel: string
  readonly serverName: string
  readonly credential: Credential
  readonly root: string
  readonly admin: string
  /** Where its scripts come from, and its uuid, as the driver's patch has them; left out, they are those of the sources. */
  readonly repo?: { readonly url: string; readonly uuid: string }
  /** Starts the program elsewhere, as somebody else; left out, it starts here. */
  readonly enter?: (argv: readonly [string, ...string[]]) => { readonly file: string; readonly args: readonly string[] }
}

/** A real Pipy that runs the codebase of the driver. */
export interface Worker {
  /** What was started: it runs Pipy, or what runs that. */
  readonly pid: number
  /** The process of Pipy itself, which `pid` has started. */
  readonly pipyPid: () => number
  /** Its exit code, once it has ended. */
  readonly ended: Promise<number | null>
  /** True if it has ended, by itself or by the test. */
  readonly hasEnded: () => boolean
  /** All that it has said so far. */
  readonly output: () => string
  /** Replaces the certificate and the roots in place, as anyone who rotates them does. */
  readonly renew: (credential: Credential, roots: readonly string[]) => Promise<void>
  /** Says that a signal is to end it, be it one of its own scripts: it is no crash then. */
  readonly expectEnd: () => void
  /** Has it load its scripts again. */
  readonly reload: () => void
  readonly stop: () => Promise<void>
}

/** Starts a worker. Where it finds its control plane is in its environment, as the driver's patch has it. */
export async function startWorker({
  channel,
  serverName,
  credential,
  root,
  admin,
  repo,
  enter = ([file, ...args]) => ({ file, args }),
}: WorkerBootstrap): Promise<Worker> {
  const folder = await mkdtemp(join(tmpdir(), 'osm-pipy-'))
  // Anyone who runs the program reads it; the keys are those of a test.
  await chmod(folder, 0o755)
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(join(folder, name), content)
    return join(folder, name)
  }
  await cp(codebase, join(folder, 'codebase'), { recursive: true })
  const environment = {
    OSM_PIPY_CHANNEL: channel,
    OSM_PIPY_SERVER_NAME: serverName,
    OSM_PIPY_CERTIFICATE: await file('certificate.pem', credential.chain),
    OSM_PIPY_KEY: await file('key.pem', credential.privateKey),
    OSM_PIPY_ROOTS: await file('roots.pem', root),
    OSM_PIPY_ADMIN: admin,
  }
  // Run through the open file: where it lies may be nowhere that others get to.
  const binary = await open(pipyBinary())
  const script = join(folder, 'codebase', 'main.js')
  const { OSM_PIPY_CERTIFICATE: certificate, OSM_PIPY_KEY: key, OSM_PIPY_ROOTS: roots } = environment
  const tls = [`--tls-cert=${certificate}`, `--tls-key=${key}`, `--tls-trusted=${roots}`]
  const source = repo === undefined ? [script] : ['--no-metrics', `--instance-uuid=${repo.uuid}`, ...tls, repo.url]
  const { file: program, args } = enter(['timeout', '-k', '1', `${LONGEST_LIFE_SECONDS}`, '/proc/self/fd/3', ...source])
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe', binary.fd],
    // Its own group: `timeout` passes no SIGKILL on.
    detached: true,
  })
  await binary.close()
  const { pid } = child
  if (pid === undefined) throw new Error(`${program} can't be started`)
  let isStopped = false
  let isToEnd = false
  const ended = once(child, 'exit').then(([code, signal]) => {
    // `timeout` passes on that its child was ended by a signal.
    if (!isStopped && !isToEnd && (signal !== null || Number(code) > 128))
      noteCrash(`a worker: ${String(signal ?? code)}`)
    return code as number | null
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-100_000)
    })
  const stop = async (): Promise<void> => {
    isStopped = true
    await kill(child)
    await rm(folder, { recursive: true, force: true })
  }
  const renew = async (next: Credential, roots: readonly string[]): Promise<void> => {
    await file('certificate.pem', next.chain)
    await file('key.pem', next.privateKey)
    await file('roots.pem', roots.join(''))
  }
  const pipyPid = (): number => childOf(pid)
  // Not to `timeout`, which takes it for its own end.
  const reload = (): void => void process.kill(pipyPid(), 'SIGHUP')
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  const expectEnd = (): void => {
    isToEnd = true
  }
  return { pid, pipyPid, ended, hasEnded, output: () => output, renew, expectEnd, reload, stop }
}

/** The process that another one has started. */
export function childOf(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  if (child === undefined || child === '') throw new Error(`process ${pid} has no child`)
  return Number(child)
}

async function kill(child: ChildProcess): Promise<void> {
  const { pid } = child
  if (pid !== undefined) await endProcess(child, () => process.kill(-pid, 'SIGKILL'))
}
