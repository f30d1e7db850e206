import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { hasSidecarsHome } from '@osm-ts/standalone/testing'

import { kernelTestObstacle, removeLeftovers, run } from './support/kernel.js'
import { MachineNetwork } from './support/machine-network.js'
import { programs } from './support/mesh.js'
import { MACHINE_PORT as PORT, osmProgram as osm, storeMesh, TestMachine } from './support/test-machine.js'
import { account, service, trafficTarget, workload } from './support/yaml.js'

/** Another port of the machine, which is no business of the mesh. */
const OWN_PORT = 2222
const http = { protocol: 'http' }
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
    const asked: string[] = []
    const resolver = nameserver(asked)
    let state: string
    let hostsFile: string
    let machine: TestMachine
    let joined: ChildProcess

    const call = (url: string): string => machine.call(url)
    const joinArgs = (more: readonly string[] = []) => machine.joinArgs('rack-8', more)
    const startJoin = (more: readonly string[] = []) => machine.start('rack-8', ['--transparent', ...more])

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

    /** Rules of ours on the machine, of both families. */
    function rulesLeft(): readonly string[] {
      const lists = ['iptables-save', 'ip6tables-save'].map((program) => machine.inside(program).output)
      return lists.flatMap((text) => text.split('\n')).filter((line) => line.includes('OSM_PROXY_'))
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
      machine = await TestMachine.start(network, [
        ...storeMesh(),
        account('shop/private'),
        trafficTarget('shop/private', { to: 'shop/private', from: ['shop/client'], rules }),
        workload('shop/private', { program: programs.http, port: PORT }),
        service('shop/hidden', 'books', PORT, http),
        service('shop/private', 'private', PORT, http),
      ])
      state = machine.state('rack-8')
      for (const port of [PORT, OWN_PORT])
        await machine.serve(programs.http, { PORT: String(port), HOST: '0.0.0.0', NAME: 'machine' })
      await machine.serveOutside(programs.http, { PORT: String(PORT), HOST: network.mesh, NAME: 'outside' })
    })
    afterAll(async () => {
      resolver.close()
      await machine.close()
      network.remove()
    })

    it('is refused without root, before its token is used', async () => {
      const text = machine.token()
      await machine.tokenFile(text)
      const stateOfNobody = join(tmpdir(), `osm-machine-nobody-${String(process.pid)}`)
      const environment = ['env', 'HOME=/nonexistent', `OSM_MACHINE_TOKEN=${text.trim()}`]
      const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, osm]
      const refused = machine.inside(
        ...environment,
        ...nobody,
        ...joinArgs(['--transparent', '--state', stateOfNobody, '--envoy', '/bin/true']),
      )
      await rm(stateOfNobody, { recursive: true, force: true })
      expect(refused.output).toMatch(/changing the network takes root.*OSM_JOIN_TRANSPARENT/s)
      expectNothingLeft()
    })

    it('joins, and a client without support for the mesh reaches its services by name and address', async () => {
      joined = startJoin(['--token-file', join(machine.folder, 'token')])
      await machine.untilAnswered()
      for (const name of ['books.shop', 'books.shop.svc', 'books.shop.svc.cluster.local'])
        expect(call(`http://${name}:8080/`)).toBe('200 books')
      const address = await lookUp('books.shop')
      expect(address).toMatch(/^240\.240\./)
      expect(call(`http://${address}:8080/`)).toBe('200 books')
    })

    it('calls with its own identity, so that policy refuses what it permits to others only', () => {
      expect(call('http://private.shop:8080/')).toMatch(/^curl/)
    })

    it('accepts permitted callers with mutual TLS, and no connections that bypass its sidecar', async () => {
      await expect(machine.ask('shop/stranger')).resolves.toBe('403')
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
      await machine.mesh.write('later.yaml', service('shop/later', 'books', PORT, http))
      await eventually(
        async () => call('http://later.shop:8080/'),
        (answer) => answer === '200 books',
        { what: 'an answer at the new name' },
      )
    })

    it('cannot be joined a second time on one machine, nor started without redirection', async () => {
      const other = machine.osm(...joinArgs(['--transparent', '--state', machine.state('other')]))
      expect(other.output).toContain('OSM_JOIN_RUNNING')
      expect(rulesLeft()).not.toEqual([])
      expect(hasSidecarsHome(state)).toBe(true)
    })

    it('replaces the rules that a killed run left behind', async () => {
      const before = rulesLeft()
      await machine.end(joined, 'SIGKILL')
      expect(rulesLeft()).toEqual(before)
      const explicit = machine.osm(...joinArgs())
      expect(explicit.output).toContain('OSM_JOIN_MODE')
      expectNothingLeft()
      joined = startJoin()
      await machine.untilAnswered()
      await machine.end(joined, 'SIGKILL')
      joined = startJoin(['--exclude-outbound-ip-ranges', `${network.mesh}/32`])
      await machine.untilAnswered()
      expect(rulesLeft()).toHaveLength(before.length + 1)
      expect(call('http://books.shop:8080/')).toBe('200 books')
    })

    it('lets connections to excluded ranges bypass its sidecar', () => {
      expect(call(`http://${network.mesh}:${PORT}/`)).toBe('200 outside')
    })

    it('leaves nothing where it ends in order, and comes back', async () => {
      await machine.end(joined, 'SIGTERM')
      expect(joined.exitCode).toBe(0)
      expectNothingLeft()
      expect(existsSync(state)).toBe(true)
      joined = startJoin()
      await machine.untilAnswered()
    })

    it('leaves nothing by osm machine leave after it was killed', async () => {
      await machine.end(joined, 'SIGKILL')
      expect(machine.osm('machine', 'leave', '--state', state)).toEqual({
        code: 0,
        output: 'The machine has left the mesh\n',
      })
      expectNothingLeft()
      expect(existsSync(state)).toBe(false)
    })
  })
}
