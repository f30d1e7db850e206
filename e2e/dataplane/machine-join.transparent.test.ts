import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { AzureMetadataStandIn } from '@osm-ts/standalone/testing'

import { kernelTestObstacle, removeLeftovers, run } from './support/kernel.js'
import { MachineNetwork } from './support/machine-network.js'
import { programs } from './support/mesh.js'
import { MACHINE_PORT, osmProgram as osm, storeMesh, TestMachine } from './support/test-machine.js'

const network = new MachineNetwork('machine', 7)
const inside = [...network.inside, process.execPath] as const
const obstacle = kernelTestObstacle()
/** The machine as Azure knows it. */
const virtual = {
  vmId: 'bd8e7443-24a0-41f3-b949-8baf4fd1c573',
  subscriptionId: '5f130ffc-0a3e-4795-b691-4f56a12a5547',
} as const

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

if (obstacle !== undefined) {
  describe('a machine with its own address', () => {
    it('can run here', () => {
      throw new Error(obstacle)
    })
  })
} else {
  describe('a machine with its own address', () => {
    const metadata = new AzureMetadataStandIn(virtual)
    let metadataUrl: URL
    let machine: TestMachine
    let joined: ChildProcess
    let token: string

    const startJoin = (more: readonly string[] = []) => machine.start('rack-7', more)

    async function participant() {
      const page = JSON.parse(await machine.mesh.debug('/debug/participants')) as {
        readonly proxies: readonly { readonly name: string; readonly state: string; readonly identity: string }[]
      }
      return page.proxies.find(({ name }) => name === 'shop/rack-7')
    }

    beforeAll(async () => {
      removeLeftovers('osmtest-')
      network.create()
      metadataUrl = await metadata.listen(network.mesh)
      const storeAnnotations = {
        'openservicemesh.io/machine-labels': 'app=store',
        'openservicemesh.io/azure-machines': `${virtual.subscriptionId}/${virtual.vmId}`,
      }
      machine = await TestMachine.start(network, storeMesh({ storeAnnotations }), {
        environment: { OSM_MACHINE_AZURE_ROOTS: metadata.authority.root.pem },
      })
      await machine.serve(programs.http, { PORT: String(MACHINE_PORT), NAME: 'machine' })
    })
    afterAll(async () => {
      await machine.close()
      await metadata.close()
      network.remove()
    })

    it('joins by a token, and answers its first meshed request', async () => {
      token = machine.token()
      expect(token).toMatch(/^osm1\./)
      const file = await machine.tokenFile(token)
      const began = performance.now()
      joined = startJoin(file)
      await machine.untilAnswered()
      const seconds = (performance.now() - began) / 1000
      process.stdout.write(`join to first meshed request: ${seconds.toFixed(2)} s\n`)
      expect(seconds).toBeLessThan(120)
    })

    it('has the identity of its token, and only what policy allows reaches it', async () => {
      await expect(participant()).resolves.toMatchObject({ state: 'participant', identity: 'store.shop' })
      await expect(machine.ask('shop/stranger')).resolves.toBe('403')
    })

    it('resolves services of the mesh by its forward proxy', async () => {
      const { HTTP_PROXY = '' } = variablesOf(machine.printed)
      const asked = (url: string): string => run('ip', [...inside, '-e', askProgram, HTTP_PROXY, url]).trim()
      expect(asked('http://books.shop:8080/')).toBe('200 books')
      expect(asked('http://nothing.shop:8080/')).toMatch(/^403/)
    })

    it('cannot be joined twice by one token, nor by a token of another mesh', async () => {
      const thief = machine.osm(...machine.joinArgs('thief', await machine.tokenFile(token)))
      expect(thief).toEqual({ code: 1, output: expect.stringContaining('OSM_MACHINE_TOKEN_USED') })
      const [version, id, secret] = token.split('.')
      const other = await machine.tokenFile([version, id, secret, 'A'.repeat(43)].join('.'))
      const astray = machine.osm(...machine.joinArgs('astray', other))
      expect(astray).toEqual({ code: 1, output: expect.stringContaining('OSM_JOIN_TRUST') })
    })

    it('loses no request while the control plane restarts', async () => {
      const answers: string[] = []
      await machine.mesh.restartController(async () => {
        for (let n = 0; n < 200; n += 1) answers.push(await machine.ask('shop/client'))
      })
      for (let n = 0; n < 50; n += 1) answers.push(await machine.ask('shop/client'))
      expect(new Set(answers)).toEqual(new Set(['machine']))
    })

    it('ends in order, and comes back with the certificate that it has', async () => {
      const ended = once(joined, 'exit')
      joined.kill('SIGTERM')
      await expect(ended).resolves.toEqual([0, null])
      await eventually(
        () => machine.ask('shop/client'),
        (by) => by !== 'machine',
        { what: 'that the machine is out of service' },
      )
      joined = startJoin()
      await machine.untilAnswered()
    })

    it('leaves nothing', async () => {
      const ended = once(joined, 'exit')
      expect(machine.osm('machine', 'leave', '--state', machine.state('rack-7'))).toEqual({
        code: 0,
        output: 'The machine has left the mesh\n',
      })
      await ended
      expect(existsSync(machine.state('rack-7'))).toBe(false)
      const commands = run('ip', ['netns', 'pids', network.namespace])
        .split('\n')
        .filter((pid) => pid !== '')
        .map((pid) => run('cat', [`/proc/${pid}/cmdline`]))
      expect(commands).toEqual([expect.stringContaining('http-server')])
      await eventually(participant, (found) => found === undefined, { what: 'that the machine is forgotten' })
    })

    it('joins as a virtual machine of Azure, once', async () => {
      const root = join(machine.folder, 'root.pem')
      await writeFile(root, run(process.execPath, [osm, 'machine', 'root', '--state', machine.mesh.stateFolder]))
      const azure = ['--azure', '--azure-metadata', metadataUrl.origin, '--root-file', root]
      const identity = (name: string): readonly string[] => ['--namespace', 'shop', '--service-account', name]
      joined = startJoin([...azure, ...identity('store')])
      await machine.untilAnswered()
      await expect(participant()).resolves.toMatchObject({ state: 'participant', identity: 'store.shop' })
      // The metadata service is part of this process, which must not wait.
      const again = async (account: string): Promise<string> => {
        const args = machine.joinArgs(account, ['--name', 'again', ...azure, ...identity(account)])
        const child = spawn('ip', [...inside, osm, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
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
