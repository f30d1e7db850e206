import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { hasSidecarsHome } from '@osm-ts/standalone/testing'

import { kernelTestObstacle, removeLeftovers, run } from './support/kernel.js'
import { MachineNetwork } from './support/machine-network.js'
import { envoyBinary, programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { throughProxy } from './support/traffic.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

const PORT = 8080
/** Another port of the machine, which is no business of the mesh. */
const OWN_PORT = 2222
const http = { protocol: 'http' }
const osm = fileURLToPath(new URL('../../packages/cli/dist/osm.mjs', import.meta.url))
const network = new MachineNetwork('redir', 8)
const obstacle = kernelTestObstacle()
const rules = [{ kind: 'HTTPRouteGroup', name: 'any' } as const]
const hosts = '127.0.0.1 localhost\n192.0.2.9 own.example\n192.0.2.10 hidden.shop\n'
/** What the machine's own nameserver says of every name. */
const ANSWER = [192, 0, 2, 77]

/** Answers every question for an IPv4 address. */
function nameserver(asked: string[]): Socket {
  const socket = createSocket('udp4')
  socket.on('message', (query, { address, port }) => {
    const end = query.indexOf(0, 12) + 5
    const labels: string[] = []
    for (let at = 12; query[at] !== 0; at += 1 + (query[at] ?? 0))
      labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] ?? 0)))
    asked.push(labels.join('.'))
    const isIpv4 = query.readUInt16BE(end - 4) === 1
    const answer = isIpv4 ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, ...ANSWER] : []
    const head = [...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isIpv4 ? 1 : 0, 0, 0, 0, 0]
    socket.send(Buffer.from([...head, ...query.subarray(12, end), ...answer]), port, address)
  })
  return socket
}

if (obstacle !== undefined) {
  describe('a machine whose connections are redirected', () => {
    it('can run here', () => {
      throw new Error(obstacle)
    })
  })
} else {
  describe('a machine whose connections are redirected', () => {
    const children: ChildProcess[] = []
    const asked: string[] = []
    const resolver = nameserver(asked)
    let folder: string
    let state: string
    let hostsFile: string
    let mesh: TestMesh
    let joined: ChildProcess
    let said: string

    /** Runs a program of the machine to its end. */
    function inside(...argv: readonly string[]): { readonly code: number | null; readonly output: string } {
      const { status, stdout, stderr } = spawnSync('ip', [...network.inside, ...argv], {
        encoding: 'utf8',
        timeout: 120_000,
      })
      return { code: status, output: status === 0 ? stdout : stderr }
    }

    /** The resolver is part of this process, which must not wait. */
    async function lookUp(name: string): Promise<string> {
      const child = spawn('ip', [...network.inside, 'getent', 'ahostsv4', name], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (piece: string) => (output += piece))
      await once(child, 'close')
      return output.split(/\s/)[0] ?? ''
    }

    /** Status and server of a plain client of the machine that knows nothing of the mesh. */
    function call(url: string): string {
      const { code, output } = inside(
        'curl',
        '-s',
        '-m',
        '10',
        '-o',
        '/dev/null',
        '-w',
        '%{http_code} %header{server}',
        url,
      )
      return code === 0 ? output.trim() : `curl ${String(code)}`
    }

    function token(): string {
      const args = ['machine', 'token', '--state', mesh.stateFolder, '-n', 'shop', '-a', 'store', '-l', 'app=store']
      return run(process.execPath, [osm, ...args])
    }

    const joinArgs = (more: readonly string[] = []): readonly string[] => [
      ...['machine', 'join', mesh.mesh.machinesUrl() ?? '', '--state', state, '--name', 'rack-8'],
      ...['--port', String(PORT), '--envoy', envoyBinary(), ...more],
    ]

    function startJoin(more: readonly string[] = []): ChildProcess {
      const child = spawn('ip', [...network.inside, process.execPath, osm, ...joinArgs(['--transparent', ...more])], {
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      children.push(child)
      said = ''
      child.stderr.setEncoding('utf8').on('data', (piece: string) => (said += piece))
      return child
    }

    async function ask(from: string): Promise<string> {
      const { status, server } = await throughProxy(mesh.proxyOf(from), 'http://store.shop:8080/')
      return status === 200 ? (server ?? '') : String(status)
    }

    /** The sidecar of a run that was killed answers too, until another run replaces it. */
    const untilAnswered = () =>
      eventually(
        async () => (said.includes('Ready: callers') ? ask('shop/client') : 'not ready'),
        (by) => by === 'machine',
        { what: 'an answer of the machine' },
      ).catch((error: unknown) => {
        throw new Error(`osm machine join said: ${said}`, { cause: error })
      })

    /** Rules of ours on the machine, of both families. */
    function rulesLeft(): readonly string[] {
      const lists = ['iptables-save', 'ip6tables-save'].map((program) => inside(program).output)
      return lists.flatMap((text) => text.split('\n')).filter((line) => line.includes('OSM_PROXY_'))
    }

    async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    }

    const expectNothingLeft = (): void => {
      expect(rulesLeft()).toEqual([])
      expect(readFileSync(hostsFile, 'utf8')).toBe(hosts)
      expect(hasSidecarsHome(state)).toBe(false)
    }

    beforeAll(async () => {
      removeLeftovers('osmtest-')
      network.create()
      const etc = network.etc({
        hosts,
        'resolv.conf': `nameserver ${network.mesh}\noptions timeout:2 attempts:2\n`,
        'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
      })
      hostsFile = etc('hosts')
      await new Promise<void>((resolve) => resolver.bind(53, network.mesh, resolve))
      folder = await mkdtemp(join(tmpdir(), 'osm-machine-'))
      state = join(folder, 'state')
      mesh = await startTestMesh(
        {
          'mesh.yaml': [
            meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
            ...['client', 'stranger', 'books', 'store', 'private'].map((name) => account(`shop/${name}`)),
            routeGroup('shop/any', [{ name: 'any', pathRegex: '.*', methods: ['*'] }]),
            trafficTarget('shop/store', { to: 'shop/store', from: ['shop/client'], rules }),
            trafficTarget('shop/books', { to: 'shop/books', from: ['shop/store'], rules }),
            trafficTarget('shop/private', { to: 'shop/private', from: ['shop/client'], rules }),
            workload('shop/client', { program: programs.idle }),
            workload('shop/stranger', { program: programs.idle }),
            workload('shop/books', { program: programs.http, port: PORT }),
            workload('shop/private', { program: programs.http, port: PORT }),
            service('shop/store', 'store', PORT, http),
            service('shop/books', 'books', PORT, http),
            service('shop/hidden', 'books', PORT, http),
            service('shop/private', 'private', PORT, http),
          ],
        },
        'explicit',
        undefined,
        'envoy',
        undefined,
        { machineAddress: network.mesh },
      )
      for (const port of [PORT, OWN_PORT]) {
        const app = spawn('ip', [...network.inside, process.execPath, programs.http], {
          env: { ...process.env, PORT: String(port), HOST: '0.0.0.0', NAME: 'machine' },
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        children.push(app)
        await once(app.stdout, 'data')
      }
      const outside = spawn(process.execPath, [programs.http], {
        env: { ...process.env, PORT: String(PORT), HOST: network.mesh, NAME: 'outside' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(outside)
      await once(outside.stdout, 'data')
    })
    afterAll(async () => {
      for (const child of children) await end(child, 'SIGTERM')
      resolver.close()
      await mesh.stop()
      network.remove()
      await rm(folder, { recursive: true })
    })

    it('is refused without root, before its token is used', async () => {
      const text = token()
      await writeFile(join(folder, 'token'), text, { mode: 0o600 })
      const stateOfNobody = join(tmpdir(), `osm-machine-nobody-${String(process.pid)}`)
      const environment = ['env', 'HOME=/nonexistent', `OSM_MACHINE_TOKEN=${text.trim()}`]
      const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, osm]
      const refused = inside(
        ...environment,
        ...nobody,
        ...joinArgs(['--transparent', '--state', stateOfNobody, '--envoy', '/bin/true']),
      )
      await rm(stateOfNobody, { recursive: true, force: true })
      expect(refused.output).toMatch(/changing the network takes root.*OSM_JOIN_TRANSPARENT/s)
      expectNothingLeft()
    })

    it('joins, and a client that knows nothing of the mesh reaches its services by name and address', async () => {
      joined = startJoin(['--token-file', join(folder, 'token')])
      await untilAnswered()
      for (const name of ['books.shop', 'books.shop.svc', 'books.shop.svc.cluster.local'])
        expect(call(`http://${name}:8080/`)).toBe('200 books')
      const address = await lookUp('books.shop')
      expect(address).toMatch(/^240\.240\./)
      expect(call(`http://${address}:8080/`)).toBe('200 books')
    })

    it('calls with its own identity, so that policy refuses what it permits to others only', () => {
      expect(call('http://private.shop:8080/')).toMatch(/^curl/)
    })

    it('is reached with mutual TLS by those whom policy permits, and by no one past its sidecar', async () => {
      await expect(ask('shop/stranger')).resolves.toBe('403')
      const plain = spawnSync('curl', ['-s', '-m', '5', `http://${network.machine}:${PORT}/`], { encoding: 'utf8' })
      expect([plain.status, plain.stdout]).toEqual([expect.any(Number), ''])
      expect(plain.status).not.toBe(0)
    })

    it('keeps its other ports as they are', () => {
      const own = [
        '-s',
        '-m',
        '5',
        '-o',
        '/dev/null',
        '-w',
        '%header{server}',
        `http://${network.machine}:${OWN_PORT}/`,
      ]
      expect(run('curl', own)).toBe('machine')
    })

    it('leads connections to destinations outside of the mesh through its sidecar, which refuses them without egress', () => {
      expect(call(`http://${network.mesh}:${PORT}/`)).not.toContain('outside')
    })

    it('asks its own resolver for names that the mesh does not know, and prefers its own hosts file', async () => {
      await expect(lookUp('unknown.example')).resolves.toBe(ANSWER.join('.'))
      await expect(lookUp('own.example')).resolves.toBe('192.0.2.9')
      await expect(lookUp('hidden.shop')).resolves.toBe('192.0.2.10')
      expect(asked).toContain('unknown.example')
      expect(asked.filter((name) => name.startsWith('books.shop'))).toEqual([])
    })

    it('learns the name of a Service that is added', async () => {
      await mesh.write('later.yaml', service('shop/later', 'books', PORT, http))
      await eventually(
        async () => call('http://later.shop:8080/'),
        (answer) => answer === '200 books',
        { what: 'an answer at the new name' },
      )
    })

    it('cannot be joined a second time on one machine, nor started without redirection', async () => {
      const other = inside(process.execPath, osm, ...joinArgs(['--transparent', '--state', join(folder, 'other')]))
      expect(other.output).toContain('OSM_JOIN_RUNNING')
      expect(rulesLeft()).not.toEqual([])
      expect(hasSidecarsHome(state)).toBe(true)
    })

    it('replaces what a run that was killed has left', async () => {
      const before = rulesLeft()
      await end(joined, 'SIGKILL')
      expect(rulesLeft()).toEqual(before)
      const explicit = inside(process.execPath, osm, ...joinArgs())
      expect(explicit.output).toContain('OSM_JOIN_MODE')
      expectNothingLeft()
      joined = startJoin()
      await untilAnswered()
      await end(joined, 'SIGKILL')
      joined = startJoin(['--exclude-outbound-ip-ranges', `${network.mesh}/32`])
      await untilAnswered()
      expect(rulesLeft()).toHaveLength(before.length + 1)
      expect(call('http://books.shop:8080/')).toBe('200 books')
    })

    it('lets connections to excluded ranges bypass its sidecar', () => {
      expect(call(`http://${network.mesh}:${PORT}/`)).toBe('200 outside')
    })

    it('leaves nothing where it ends in order, and comes back', async () => {
      await end(joined, 'SIGTERM')
      expect(joined.exitCode).toBe(0)
      expectNothingLeft()
      expect(existsSync(state)).toBe(true)
      joined = startJoin()
      await untilAnswered()
    })

    it('leaves nothing by osm machine leave after it was killed', async () => {
      await end(joined, 'SIGKILL')
      expect(inside(process.execPath, osm, 'machine', 'leave', '--state', state)).toEqual({
        code: 0,
        output: 'The machine has left the mesh\n',
      })
      expectNothingLeft()
      expect(existsSync(state)).toBe(false)
    })
  })
}
