import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from '@jest/globals'
import { clusterCommand } from '../harness/cluster-command.mjs'
import { readEnvironment } from '../local/machine-process.js'
import { clusterNames, markerVariable } from '../local/names.js'
import { runCommand } from '../run-command.js'

const root = new URL('../../../', import.meta.url).pathname
// Of a form by which the next run finds what a killed one has left. The shared cluster may have the same number: jest may run both in one process.
const name = `l${process.pid}`
const names = clusterNames(name)
const options = ['--name', name, '--nodes', '1']
const timeoutMs = 180_000

afterEach(async () => {
  // Only what a test has left that failed.
  if (existsSync(names.folder) || ownProcesses().length > 0) await clusterCommand('down', options)
}, timeoutMs)

/** What a node would change if it ran in the namespaces of this machine. */
const foreignPaths = [
  '/var/lib/kubelet',
  '/var/lib/cni',
  '/etc/cni/net.d',
  '/run/containerd',
  '/var/log/pods',
  '/usr/libexec/kubernetes',
]
const foreignSettings = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'net/ipv4/ip_forward',
]

/** Everything of this machine that a cluster might leave behind. Other work of the machine is left out where it can be told apart. */
async function observe(): Promise<object> {
  const list = async (...args: readonly string[]): Promise<readonly string[]> =>
    (await runCommand('ip', ['-o', ...args])).split('\n').filter((line) => line.includes(names.hostLink))
  const rules = (await runCommand('iptables-save', [])).split('\n').filter((line) => /KUBE|CNI/.test(line))
  const hierarchies = existsSync('/sys/fs/cgroup/cgroup.controllers') ? ['.'] : readdirSync('/sys/fs/cgroup')
  return {
    mounts: readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(names.folder)),
    links: await list('link', 'show'),
    routes: await list('route', 'show', 'table', 'all'),
    rules,
    cgroups: hierarchies.filter((hierarchy) => existsSync(`/sys/fs/cgroup/${hierarchy}/${names.cgroup}`)),
    processes: ownProcesses().length,
    files: [names.folder, names.lock, ...foreignPaths].filter((path) => existsSync(path)),
    settings: foreignSettings.map((path) => readFileSync(`/proc/sys/${path}`, 'utf8').trim()),
  }
}

/** Processes of the cluster: those that say so, and those in the control groups of its pods. */
function ownProcesses(): readonly number[] {
  const all = readdirSync('/proc').map(Number).filter(Number.isInteger)
  return all.filter(
    (pid) => readEnvironment(pid).includes(`${markerVariable}=${name}`) || cgroupsOf(pid).includes(names.cgroup),
  )
}

function cgroupsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8')
  } catch {
    return ''
  }
}

/** Starts `up` as a user does, in its own process group as a terminal gives it. */
function startUp(): ChildProcess {
  const args = ['tools/bootstrap.mjs', 'cluster', 'up', ...options]
  return spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
}

/** Waits until `up` says something. */
async function says(up: ChildProcess, words: string): Promise<void> {
  const said: string[] = []
  for await (const line of createInterface({ input: up.stderr! })) {
    said.push(line)
    if (line.includes(words)) return
  }
  throw new Error(`up never said "${words}":\n${said.join('\n')}`)
}

async function appears(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** Ends a process group at once. */
async function killGroup(up: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const ended = up.exitCode === null && up.signalCode === null ? once(up, 'close') : undefined
  up.stderr?.resume()
  process.kill(-up.pid!, signal)
  await ended
}

const moments: readonly { readonly when: string; readonly come: (up: ChildProcess) => Promise<void> }[] = [
  { when: 'it has taken its addresses', come: () => appears(`${names.folder}/cluster.json`) },
  { when: 'its first machine has been started', come: () => appears(`${names.folder}/control-plane/pid`) },
  { when: 'its machines run', come: (up) => says(up, 'Waiting for nodes and DNS') },
]

describe('a local cluster', () => {
  it(
    'leaves nothing behind',
    async () => {
      const before = await observe()
      const up: unknown = (await clusterCommand('up', options)).succeeded()
      expect(up).toMatchObject({ name, provider: 'local', nodes: ['node-1'], kubeconfig: names.kubeconfig })
      expect((await clusterCommand('up', options)).succeeded()).toEqual(up)
      const during = (await observe()) as { readonly settings: unknown; readonly processes: number }
      // A pod of the DNS runs besides the programs of the two machines.
      expect(during.processes).toBeGreaterThan(10)
      expect(during).toMatchObject({ settings: (before as typeof during).settings })

      expect((await clusterCommand('down', options)).succeeded()).toEqual({ state: 'down' })
      expect(await observe()).toEqual(before)
      const status = await clusterCommand('status', options)
      expect(status).toMatchObject({ code: 1, answer: { state: 'down', findings: [] } })
      expect((await clusterCommand('down', options)).code).toBe(0)
    },
    timeoutMs,
  )

  it.each(moments)(
    'leaves nothing behind when it was killed after $when',
    async ({ come }) => {
      const before = await observe()
      const up = startUp()
      await come(up)
      await killGroup(up, 'SIGKILL')
      expect((await clusterCommand('status', options)).answer).toMatchObject({ state: 'partial' })
      expect((await clusterCommand('down', options)).code).toBe(0)
      expect(await observe()).toEqual(before)
    },
    timeoutMs,
  )

  it(
    'removes everything when it is interrupted, and can be made after it was killed',
    async () => {
      const before = await observe()
      const interrupted = startUp()
      await says(interrupted, 'Waiting for nodes and DNS')
      await killGroup(interrupted, 'SIGINT')
      expect(interrupted.exitCode).toBe(1)
      expect(await observe()).toEqual(before)

      const killed = startUp()
      await says(killed, 'Waiting for nodes and DNS')
      await killGroup(killed, 'SIGKILL')
      expect((await clusterCommand('up', options)).succeeded()).toMatchObject({ nodes: ['node-1'] })
      expect((await clusterCommand('status', options)).answer).toMatchObject({ state: 'up' })
    },
    timeoutMs,
  )
})
