import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { types } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { build } from 'esbuild'
import {
  createMeshNetwork,
  sweepMeshNetworks,
  transparentModeObstacles,
  type MeshNetwork,
  type SpawnCommand,
  type WorkloadNetwork,
  parseOwnerMark,
  parseOwnerMetric,
} from '@osm-ts/standalone/testing'
import {
  greeting,
  isRunning,
  kernelTestObstacle,
  namespaceNames,
  run,
  startGreeters,
  type Prefix,
} from './support/kernel.js'

const obstacle = kernelTestObstacle()
const root = new URL('../../', import.meta.url).pathname

function prefixOf({ file, args }: SpawnCommand): Prefix {
  return [file, ...args]
}

/** The words to put before a program to run it in a workload, as root or as some user. */
function inside(workload: WorkloadNetwork, uid?: number): Prefix {
  return prefixOf(workload.command(['env'], uid === undefined ? {} : { uid }))
}

/** Everything that the mesh networks of some processes could leave on the host; it bears their mark. Test files run side by side, and others have theirs. */
function hostState(...pids: readonly number[]) {
  const owners = pids.length > 0 ? pids : [process.pid]
  const isOurs = (name: string): boolean => {
    const [, mark = ''] = /^osm-(?:ts-)?([0-9a-z]+)-/.exec(name) ?? []
    return owners.includes(parseOwnerMark(mark)?.pid ?? 0)
  }
  const shown = (args: readonly string[]): readonly Readonly<Record<string, unknown>>[] => {
    const output = run('ip', ['-j', ...args]).trim()
    return JSON.parse(output === '' ? '[]' : output) as readonly Readonly<Record<string, unknown>>[]
  }
  const routes = shown(['route', 'show', 'table', 'all'])
  return {
    links: shown(['link', 'show'])
      .map(({ ifname }) => String(ifname))
      .filter(isOurs)
      .sort(),
    routes: routes
      .filter(({ protocol, metric }) => protocol === '214' && owners.includes(parseOwnerMetric(Number(metric)).pid))
      .map(({ dst }) => String(dst))
      .sort(),
    namespaces: namespaceNames().filter(isOurs).sort(),
    folders: existsSync('/etc/netns') ? readdirSync('/etc/netns').filter(isOurs).sort() : [],
  }
}

/** Connects from the host; the error code where no one takes it. */
async function dial(host: string, port: number): Promise<string> {
  const socket = connect({ host, port })
  try {
    await once(socket, 'connect')
    return 'connected'
  } catch (error) {
    return types.isNativeError(error) && 'code' in error ? String(error.code) : String(error)
  } finally {
    socket.destroy()
  }
}

if (obstacle !== undefined) {
  describe('the network of transparent mode', () => {
    it('can run here', () => {
      throw new Error(obstacle)
    })
  })
} else {
  describe('the network of transparent mode', () => {
    const { signal } = new AbortController()
    const none = { interception: 'none', hosts: [] } as const
    const before = hostState()
    let network: MeshNetwork

    beforeEach(async () => {
      network = await createMeshNetwork('free', signal)
    })

    afterEach(async () => {
      await network.destroy()
      expect(hostState()).toEqual(before)
    })

    it('finds nothing that keeps it from running here', async () => {
      expect(await transparentModeObstacles(signal)).toEqual([])
    })

    it('connects workloads only with each other and with the host', async () => {
      const [one, two] = await Promise.all(['one', 'two'].map((name) => network.addWorkload({ name, ...none }, signal)))
      const greeters = [
        await startGreeters(inside(one!), 'one', [{ host: '0.0.0.0', port: 80 }]),
        await startGreeters(inside(two!, 1234), 'two', [{ host: '0.0.0.0', port: 80 }]),
        await startGreeters([], 'host', [{ host: network.hostAddress, port: 15128 }]),
      ]
      try {
        expect(greeting(inside(one!), { host: two!.address, port: 80 })).toBe('two:80')
        expect(greeting(inside(two!), { host: one!.address, port: 80 })).toBe('one:80')
        expect(greeting(inside(one!, 1234), { host: network.hostAddress, port: 15128 })).toBe('host:15128')
        expect(greeting([], { host: one!.address, port: 80 })).toBe('one:80')
        expect(greeting(inside(one!), { host: '192.0.2.1', port: 80 })).toBe('ENETUNREACH')
      } finally {
        await Promise.all(greeters.map((greeter) => greeter.stop()))
      }
    })

    it('sends connections to service addresses to the sidecar, and drops on the host what bypasses it', async () => {
      const vip = network.vipRange.replace(/\.0\/24$/, '.7')
      const one = await network.addWorkload(
        { name: 'one', interception: {}, hosts: [{ address: vip, names: ['bookstore.bookstore'] }] },
        signal,
      )
      const two = await network.addWorkload({ name: 'two', interception: {}, hosts: [] }, signal)
      const greeters = [
        await startGreeters(inside(one, 1500), 'sidecar', [{ host: '0.0.0.0', port: 15001 }]),
        await startGreeters(inside(two, 1500), 'sidecar', [{ host: '0.0.0.0', port: 15003 }]),
      ]
      try {
        expect(greeting(inside(one), { host: 'bookstore.bookstore', port: 14001 })).toBe('sidecar:15001')
        expect(greeting(inside(one), { host: two.address, port: 14001 })).toBe('sidecar:15001')
        expect(greeting(inside(one, 1500), { host: two.address, port: 14001 })).toBe('sidecar:15003')
        // The sidecar itself requests a service address, as it never should: its packets end on the host.
        expect(greeting(inside(one, 1500), { host: vip, port: 14001 }, 500)).toMatch(/^(no answer|E(HOST|NET)UNREACH)$/)
        expect(await dial(vip, 14001)).toBe('EINVAL')
      } finally {
        await Promise.all(greeters.map((greeter) => greeter.stop()))
      }
    })

    it('resolves the given names, follows their changes under running programs, and fails others at once', async () => {
      const workload = await network.addWorkload(
        { name: 'one', interception: {}, hosts: [{ address: '192.0.2.1', names: ['a.b', 'a.b.svc.cluster.local'] }] },
        signal,
      )
      const program = `
        const { lookup } = require('node:dns')
        require('node:readline').createInterface({ input: process.stdin }).on('line', (name) => {
          lookup(name, (error, address) => console.log(error?.code ?? address))
        })`
      const { file, args } = workload.command([process.execPath, '-e', program], { uid: 1234 })
      const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const ask = async (name: string): Promise<unknown> => {
        child.stdin.write(`${name}\n`)
        return (await answers.next()).value
      }
      expect(await ask('a.b.svc.cluster.local')).toBe('192.0.2.1')
      expect(await ask('localhost')).toMatch(/^(127\.0\.0\.1|::1)$/)
      expect(await ask('example.com')).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/)
      workload.setHosts([{ address: '192.0.2.2', names: ['c.d'] }])
      expect(await ask('c.d')).toBe('192.0.2.2')
      expect(await ask('a.b')).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/)
      workload.setHosts(
        Array.from({ length: 500 }, (_, index) => ({ address: '192.0.2.3', names: [`service-${String(index)}.d`] })),
      )
      expect(await ask('service-499.d')).toBe('192.0.2.3')
      child.kill()
      await once(child, 'exit')
    })

    it('lets programs call each other by name alone, as the bookstore does where nothing is told to it', async () => {
      const cwd = join(root, 'examples/bookstore')
      const store = await network.addWorkload({ name: 'bookstore', ...none }, signal)
      const hosts = [{ address: store.address, names: ['bookstore.bookstore'] }]
      const buyer = await network.addWorkload({ name: 'bookbuyer', interception: 'none', hosts }, signal)
      const begin = (workload: WorkloadNetwork, program: string, env: Readonly<Record<string, string>>) => {
        const { file, args } = workload.command([process.execPath, program])
        const child = spawn(file, args, {
          cwd,
          env: { PATH: process.env['PATH'], ...env },
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
      }
      const server = begin(store, 'bookstore.mjs', { HOST: '0.0.0.0', PORT: '14001', IDENTITY: 'bookstore-v1' })
      expect(JSON.parse(String((await server.lines.next()).value))).toMatchObject({ listening: '0.0.0.0:14001' })
      const client = begin(buyer, 'bookbuyer.mjs', {})
      const line: unknown = JSON.parse(String((await client.lines.next()).value))
      expect(line).toMatchObject({ client: 'bookbuyer', path: '/buy-a-book/new', status: 200, server: 'bookstore-v1' })
      for (const { child } of [client, server]) {
        child.kill()
        expect(await once(child, 'exit')).toEqual([0, null])
      }
    })

    it('starts programs as the user, in the folder and with the environment that they ask for, and passes signals on', async () => {
      const workload = await network.addWorkload({ name: 'one', ...none }, signal)
      const program =
        'console.log(JSON.stringify([process.pid, process.getuid(), process.getgid(), process.cwd(), process.env])); setInterval(() => {}, 1000)'
      const { file, args, options } = workload.command([process.execPath, '-e', program], {
        uid: 1500,
        gid: 1600,
        cwd: '/usr',
        env: { PATH: '/usr/sbin:/usr/bin', COLOUR: 'blue' },
      })
      const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
      const [line] = (await once(child.stdout, 'data')) as readonly unknown[]
      expect(JSON.parse(String(line))).toEqual([
        child.pid,
        1500,
        1600,
        '/usr',
        expect.objectContaining({ COLOUR: 'blue' }),
      ])
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
    })

    it.each([
      ['root', undefined],
      ['another user', 1234],
      ['the user of the sidecar', 1500],
    ])('keeps programs that run as %s from changing the rules', async (_, uid) => {
      const workload = await network.addWorkload({ name: 'one', interception: {}, hosts: [] }, signal)
      const rules = (): string =>
        run('ip', ['netns', 'exec', workload.namespace, 'iptables-save', '-t', 'nat']).replace(/^#.*$|\[.*\]/gm, '')
      const untouched = rules()
      const attempt = (argv: readonly [string, ...string[]]) => () => {
        const { file, args } = workload.command(argv, uid === undefined ? {} : { uid })
        run(file, args)
      }
      expect(attempt(['iptables', '-t', 'nat', '-F'])).toThrow(/ended with [1-9]/)
      expect(attempt(['nsenter', '--net=/proc/1/ns/net', 'true'])).toThrow(/ended with [1-9]/)
      expect(attempt(['ip', 'link', 'set', 'eth0', 'down'])).toThrow(/ended with [1-9]/)
      expect(rules()).toBe(untouched)
    })

    it('removes a workload with its programs, and accepts another workload of the same name', async () => {
      const workload = await network.addWorkload({ name: 'one', ...none }, signal)
      const { file, args } = workload.command(['sleep', '1000'])
      const child = spawn(file, args, { stdio: 'ignore' })
      const ended = once(child, 'exit')
      await once(child, 'spawn')
      await waitUntil(() => run('ip', ['netns', 'pids', workload.namespace]).trim() === String(child.pid))
      await workload.remove()
      expect(await ended).toEqual([null, 'SIGKILL'])
      expect(namespaceNames()).not.toContain(workload.namespace)
      const again = await network.addWorkload({ name: 'one', ...none }, signal)
      expect(again.address).not.toBe(workload.address)
    })

    it('refuses address ranges in use, names in use, and invalid names', async () => {
      const { subnet, vipRange } = network
      await expect(createMeshNetwork({ subnet, vipRange: '198.51.100.0/24' }, signal)).rejects.toMatchObject({
        code: 'OSM_NETNS_RANGE_IN_USE',
      })
      await expect(createMeshNetwork({ subnet: '198.51.100.0/24', vipRange }, signal)).rejects.toMatchObject({
        code: 'OSM_NETNS_RANGE_IN_USE',
      })
      await expect(createMeshNetwork({ subnet: '10.0.0.0/33', vipRange }, signal)).rejects.toMatchObject({
        code: 'OSM_NETNS_INVALID',
      })
      await network.addWorkload({ name: 'one', ...none }, signal)
      await expect(network.addWorkload({ name: 'one', ...none }, signal)).rejects.toMatchObject({
        code: 'OSM_NETNS_INVALID',
      })
      await expect(network.addWorkload({ name: '../one', ...none }, signal)).rejects.toMatchObject({
        code: 'OSM_NETNS_INVALID',
      })
    })

    it('removes all parts of a workload that could not join', async () => {
      const occupied = hostState()
      const interception = { interfaceExclusions: ['not an interface'] }
      await expect(network.addWorkload({ name: 'one', interception, hosts: [] }, signal)).rejects.toMatchObject({
        code: 'OSM_INTERCEPTION_INTERFACE',
      })
      await expect(
        network.addWorkload({ name: 'one', interception: 'none', hosts: [{ address: 'x', names: [] }] }, signal),
      ).rejects.toMatchObject({ code: 'OSM_NETNS_INVALID' })
      expect(hostState()).toEqual(occupied)
      expect((await network.addWorkload({ name: 'one', ...none }, signal)).name).toBe('one')
    })

    it('stops when it is aborted, and destroys what it had created', async () => {
      const controller = new AbortController()
      const joining = network.addWorkload({ name: 'one', ...none }, controller.signal)
      controller.abort(new Error('enough'))
      await expect(joining).rejects.toThrow('enough')
      const late = network.addWorkload({ name: 'two', ...none }, signal)
      const destroyed = network.destroy()
      await expect(late).rejects.toMatchObject({ code: 'OSM_NETNS_CLOSED' })
      await destroyed
      await expect(network.addWorkload({ name: 'three', ...none }, signal)).rejects.toMatchObject({
        code: 'OSM_NETNS_CLOSED',
      })
      expect(hostState()).toEqual(before)
    })

    it('coexists with other networks of the same process', async () => {
      const other = await createMeshNetwork('free', signal)
      try {
        const one = await network.addWorkload({ name: 'one', ...none }, signal)
        const same = await other.addWorkload({ name: 'one', ...none }, signal)
        expect(new Set([one.namespace, same.namespace, one.address, same.address]).size).toBe(4)
      } finally {
        await other.destroy()
      }
      expect(hostState().namespaces).toHaveLength(2)
    })

    it('has its own address range when several networks are created at the same time', async () => {
      const others = await Promise.all([1, 2, 3].map(async () => createMeshNetwork('free', signal)))
      try {
        expect(new Set([network, ...others].flatMap(({ subnet, vipRange }) => [subnet, vipRange])).size).toBe(8)
      } finally {
        await Promise.all(others.map(async (other) => other.destroy()))
      }
    })

    describe('after a crash', () => {
      let folder = ''

      beforeAll(async () => {
        folder = mkdtempSync(join(tmpdir(), 'osm-netns-'))
        await build({
          stdin: { contents: crashingProgram, resolveDir: root, loader: 'ts' },
          outfile: join(folder, 'crash.mjs'),
          bundle: true,
          platform: 'node',
          format: 'esm',
          alias: Object.fromEntries(
            [
              ['driver-api/policy', 'driver-api/src/policy'],
              ['driver-api/toolkit', 'driver-api/src/toolkit'],
              ['driver-api/host', 'driver-api/src/host'],
              ['driver-api', 'driver-api/src'],
              ['interception', 'interception/src'],
            ].map(([name = '', folder = '']) => [`@osm-ts/${name}`, join(root, 'packages', folder, 'index.ts')]),
          ),
        })
      })

      afterAll(() => {
        rmSync(folder, { recursive: true, force: true })
      })

      it('is removed with its programs after its process was killed, while networks of running processes stay', async () => {
        const child = spawn(process.execPath, [join(folder, 'crash.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] })
        const state = () => hostState(process.pid, child.pid ?? 0)
        const own = hostState()
        const [line] = (await once(child.stdout, 'data')) as readonly unknown[]
        const orphan = Number(String(line))
        const crowded = state()
        expect(crowded.namespaces.length).toBe(own.namespaces.length + 3)
        expect(crowded.links.length).toBe(own.links.length + 1)
        expect(crowded.routes.length).toBeGreaterThan(own.routes.length)
        expect(own.routes.length).toBeGreaterThan(0)

        await sweepMeshNetworks()
        expect(state()).toEqual(crowded)

        expect(isRunning(orphan)).toBe(true)
        child.kill('SIGKILL')
        await once(child, 'exit')

        // Two at once must not disturb each other. Meshes of other test files sweep as well when they start.
        await Promise.all([sweepMeshNetworks(), sweepMeshNetworks()])
        await waitUntil(() => !isRunning(orphan))
        expect(state()).toEqual(own)
      })
    })
  })
}

const crashingProgram = `
  import { spawn } from 'node:child_process'
  import { createMeshNetwork } from './packages/standalone/src/netns/mesh-network.ts'
  const { signal } = new AbortController()
  const network = await createMeshNetwork('free', signal)
  const one = await network.addWorkload({ name: 'one', interception: {}, hosts: [] }, signal)
  await network.addWorkload({ name: 'two', interception: 'none', hosts: [] }, signal)
  const { file, args } = one.command(['sh', '-c', 'echo $$; exec sleep 1000'])
  spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit'], detached: true })
  process.stdin.resume().on('end', () => process.kill(process.pid, 'SIGKILL'))
`

/** For what the kernel does a moment after it was told. The test's own time limit ends it. */
async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}
