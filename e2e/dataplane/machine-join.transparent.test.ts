import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { AzureMetadataStandIn } from '@osm-ts/standalone/testing'

import { kernelTestObstacle, removeLeftovers, run } from './support/kernel.js'
import { MachineNetwork } from './support/machine-network.js'
import { envoyBinary, programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { throughProxy } from './support/traffic.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './support/yaml.js'

const PORT = 8080
const http = { protocol: 'http' }
const osm = fileURLToPath(new URL('../../packages/cli/dist/osm.mjs', import.meta.url))
const network = new MachineNetwork('machine', 7)
const inside = [...network.inside, process.execPath] as const
const obstacle = kernelTestObstacle()
const store = 'http://store.shop:8080/'
/** The machine as Azure knows it. */
const virtual = {
  vmId: 'bd8e7443-24a0-41f3-b949-8baf4fd1c573',
  subscriptionId: '5f130ffc-0a3e-4795-b691-4f56a12a5547',
} as const
const rules = [{ kind: 'HTTPRouteGroup', name: 'any' } as const]

/** One request of a program of the machine through its forward proxy. */
const askProgram = `
  const [proxy, url] = process.argv.slice(1)
  const { hostname, port } = new URL(proxy)
  require('node:http').get({ host: hostname, port, path: url, headers: { host: new URL(url).host } }, (response) => {
    response.resume().on('end', () => console.log(response.statusCode + ' ' + (response.headers.server ?? '')))
  }).on('error', (error) => console.log('error ' + error.message))`

/** Lines of `name=value`. */
function variablesOf(text: string): Readonly<Record<string, string>> {
  const lines = text.trim().split('\n')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

interface Ended {
  readonly code: number | null
  readonly output: string
}

if (obstacle !== undefined) {
  describe('a machine with its own address', () => {
    it('can run here', () => {
      throw new Error(obstacle)
    })
  })
} else {
  describe('a machine with its own address', () => {
    const children: ChildProcess[] = []
    const metadata = new AzureMetadataStandIn(virtual)
    let metadataUrl: URL
    let folder: string
    let state: string
    let mesh: TestMesh
    let joined: ChildProcess
    let variables: Promise<Readonly<Record<string, string>>>
    let token: string

    /** Runs `osm` to its end, on the machine or beside the mesh. */
    function osmOnce(place: 'machine' | 'mesh', args: readonly string[]): Ended {
      const [file, words] = place === 'machine' ? ['ip', [...inside, osm]] : [process.execPath, [osm]]
      const { status, stdout, stderr } = spawnSync(file, [...words, ...args], { encoding: 'utf8', timeout: 120_000 })
      return { code: status, output: status === 0 ? stdout : stderr }
    }

    const makeToken = (...more: readonly string[]): string => {
      const args = ['machine', 'token', '--state', mesh.stateFolder, '-n', 'shop', '-a', 'store', '-l', 'app=store']
      const { code, output } = osmOnce('mesh', [...args, ...more])
      expect([code, output]).toEqual([0, expect.stringMatching(/^osm1\./)])
      return output
    }

    const joinArgs = (of: string, more: readonly string[] = []): readonly string[] => [
      'machine',
      'join',
      mesh.mesh.machinesUrl() ?? '',
      '--state',
      of,
      '--port',
      String(PORT),
      '--envoy',
      envoyBinary(),
      ...more,
    ]

    function startJoin(more: readonly string[] = []): ChildProcess {
      const child = spawn('ip', [...inside, osm, ...joinArgs(state, ['--name', 'rack-7', ...more])], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(child)
      variables = new Promise((resolve) => {
        let text = ''
        child.stdout.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
          if (text.includes('\n')) resolve(variablesOf(text))
        })
      })
      return child
    }

    async function ask(from: string): Promise<string> {
      const { status, server } = await throughProxy(mesh.proxyOf(from), store)
      return status === 200 ? (server ?? '') : String(status)
    }

    const untilAnswered = () =>
      eventually(
        () => ask('shop/client'),
        (by) => by === 'machine',
        { what: 'an answer of the machine' },
      )

    async function participant() {
      const page = JSON.parse(await mesh.debug('/debug/participants')) as {
        readonly proxies: readonly { readonly name: string; readonly state: string; readonly identity: string }[]
      }
      return page.proxies.find(({ name }) => name === 'shop/rack-7')
    }

    beforeAll(async () => {
      removeLeftovers('osmtest-')
      network.create()
      folder = await mkdtemp(join(tmpdir(), 'osm-machine-'))
      state = join(folder, 'state')
      metadataUrl = await metadata.listen(network.mesh)
      mesh = await startTestMesh(
        {
          'mesh.yaml': [
            meshConfig({ traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false } }),
            ...['client', 'stranger', 'books'].map((name) => account(`shop/${name}`)),
            account('shop/store', {
              'openservicemesh.io/machine-labels': 'app=store',
              'openservicemesh.io/azure-machines': `${virtual.subscriptionId}/${virtual.vmId}`,
            }),
            routeGroup('shop/any', [{ name: 'any', pathRegex: '.*', methods: ['*'] }]),
            trafficTarget('shop/store', { to: 'shop/store', from: ['shop/client'], rules }),
            trafficTarget('shop/books', { to: 'shop/books', from: ['shop/store'], rules }),
            workload('shop/client', { program: programs.idle }),
            workload('shop/stranger', { program: programs.idle }),
            workload('shop/books', { program: programs.http, port: PORT }),
            service('shop/store', 'store', PORT, http),
            service('shop/books', 'books', PORT, http),
          ],
        },
        'explicit',
        undefined,
        'envoy',
        undefined,
        { machineAddress: network.mesh, environment: { OSM_MACHINE_AZURE_ROOTS: metadata.authority.root.pem } },
      )
      const app = spawn('ip', [...inside, programs.http], {
        env: { ...process.env, PORT: String(PORT), NAME: 'machine' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(app)
      await once(app.stdout, 'data')
    })
    afterAll(async () => {
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        const ended = once(child, 'exit')
        child.kill()
        await ended
      }
      await metadata.close()
      await mesh.stop()
      network.remove()
      await rm(folder, { recursive: true })
    })

    it('joins by a token, and answers its first meshed request', async () => {
      token = makeToken()
      await writeFile(join(folder, 'token'), token, { mode: 0o600 })
      const began = performance.now()
      joined = startJoin(['--token-file', join(folder, 'token')])
      await untilAnswered()
      const seconds = (performance.now() - began) / 1000
      process.stdout.write(`join to first meshed request: ${seconds.toFixed(2)} s\n`)
      expect(seconds).toBeLessThan(120)
    })

    it('has the identity of its token, and only what policy allows reaches it', async () => {
      await expect(participant()).resolves.toMatchObject({ state: 'participant', identity: 'store.shop' })
      await expect(ask('shop/stranger')).resolves.toBe('403')
    })

    it('resolves services of the mesh by its forward proxy', async () => {
      const { HTTP_PROXY = '' } = await variables
      const asked = (url: string): string => run('ip', [...inside, '-e', askProgram, HTTP_PROXY, url]).trim()
      expect(asked('http://books.shop:8080/')).toBe('200 books')
      expect(asked('http://nothing.shop:8080/')).toMatch(/^403/)
    })

    it('cannot be joined twice by one token, nor by a token of another mesh', async () => {
      await writeFile(join(folder, 'token'), token)
      const thief = osmOnce(
        'machine',
        joinArgs(join(folder, 'thief'), ['--name', 'thief', '--token-file', join(folder, 'token')]),
      )
      expect(thief).toEqual({ code: 1, output: expect.stringContaining('OSM_MACHINE_TOKEN_USED') })
      const [version, id, secret] = token.split('.')
      await writeFile(join(folder, 'token'), [version, id, secret, 'A'.repeat(43)].join('.'))
      const astray = osmOnce(
        'machine',
        joinArgs(join(folder, 'astray'), ['--name', 'astray', '--token-file', join(folder, 'token')]),
      )
      expect(astray).toEqual({ code: 1, output: expect.stringContaining('OSM_JOIN_TRUST') })
    })

    it('loses no request while the control plane restarts', async () => {
      const answers: string[] = []
      await mesh.restartController(async () => {
        for (let n = 0; n < 200; n += 1) answers.push(await ask('shop/client'))
      })
      for (let n = 0; n < 50; n += 1) answers.push(await ask('shop/client'))
      expect(new Set(answers)).toEqual(new Set(['machine']))
    })

    it('ends in order, and comes back with the certificate that it has', async () => {
      const ended = once(joined, 'exit')
      joined.kill('SIGTERM')
      await expect(ended).resolves.toEqual([0, null])
      await eventually(
        () => ask('shop/client'),
        (by) => by !== 'machine',
        { what: 'that the machine is out of service' },
      )
      joined = startJoin()
      await untilAnswered()
    })

    it('leaves nothing', async () => {
      const ended = once(joined, 'exit')
      expect(osmOnce('machine', ['machine', 'leave', '--state', state])).toEqual({
        code: 0,
        output: 'The machine has left the mesh\n',
      })
      await ended
      expect(existsSync(state)).toBe(false)
      const commands = run('ip', ['netns', 'pids', network.namespace])
        .split('\n')
        .filter((pid) => pid !== '')
        .map((pid) => run('cat', [`/proc/${pid}/cmdline`]))
      expect(commands).toEqual([expect.stringContaining('http-server')])
      await eventually(participant, (found) => found === undefined, { what: 'that the machine is forgotten' })
    })

    it('joins as a virtual machine of Azure, once', async () => {
      await writeFile(
        join(folder, 'root.pem'),
        osmOnce('mesh', ['machine', 'root', '--state', mesh.stateFolder]).output,
      )
      const azure = ['--azure', '--azure-metadata', metadataUrl.origin, '--root-file', join(folder, 'root.pem')]
      const identity = (name: string): readonly string[] => ['--namespace', 'shop', '--service-account', name]
      joined = startJoin([...azure, ...identity('store')])
      await untilAnswered()
      await expect(participant()).resolves.toMatchObject({ state: 'participant', identity: 'store.shop' })
      // The metadata service is part of this process, which must not wait.
      const again = async (account: string): Promise<string> => {
        const args = joinArgs(join(folder, account), ['--name', 'again', ...azure, ...identity(account)])
        const child = spawn('ip', [...inside, osm, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
        children.push(child)
        let output = ''
        child.stderr.setEncoding('utf8').on('data', (piece: string) => (output += piece))
        await once(child, 'close')
        return output
      }
      await expect(again('store')).resolves.toContain('OSM_MACHINE_TWICE')
      await expect(again('books')).resolves.toContain('OSM_MACHINE_ACCOUNT')
    })
  })
}
