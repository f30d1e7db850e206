import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { kernelTestObstacle, removeLeftovers, run } from './kernel.js'
import type { MachineNetwork } from './machine-network.js'
import { type LoadedClass, programs, startTestMesh, type TestMesh } from './mesh.js'
import { throughProxy } from './traffic.js'
import { account, meshConfig, routeGroup, service, trafficTarget, workload } from './yaml.js'

const PORT = 8080
const http = { protocol: 'http' }
const osm = fileURLToPath(new URL('../../../packages/cli/dist/osm.mjs', import.meta.url))
const rules = [{ kind: 'HTTPRouteGroup', name: 'any' } as const]

/** A sidecar class that a machine joins with, beside workloads of class envoy. */
export interface MachineClass {
  readonly name: string
  /** Options of `osm machine join` by which it finds the driver and the sidecar. */
  readonly args: readonly string[]
  /** Absent for a class that is built in. */
  readonly loaded?: LoadedClass
  /** Added to the start of the PATH of the command, for programs that the sidecar starts. */
  readonly path?: string
}

/** A machine of a class, as further tests see it. */
export interface ClassMachine {
  /** Runs `osm machine join` with a token that is not used, and these options in place of those of the class; gives what it says. */
  readonly refused: (stateName: string, args: readonly string[]) => Promise<string>
  readonly folder: string
  readonly machineClass: MachineClass
}

/**
 * What holds for machines of every class: they join by the patch of the driver, with and without redirection.
 *
 * @param prepare - finds the class; the folder is removed at the end
 * @param more - tests before these, of what keeps a machine from joining
 */
export function describeMachineOfClass(
  network: MachineNetwork,
  prepare: (folder: string) => Promise<MachineClass>,
  more: (machine: () => ClassMachine) => void = () => undefined,
): void {
  describe('a machine of another sidecar class than workloads', () => {
    const children: ChildProcess[] = []
    let folder: string
    let machineClass: MachineClass
    let mesh: TestMesh
    let said: string

    /** Runs a program of the machine to its end. */
    function inside(...argv: readonly string[]): string {
      const { status, stdout, stderr } = spawnSync('ip', [...network.inside, ...argv], {
        encoding: 'utf8',
        timeout: 120_000,
      })
      return status === 0 ? stdout : stderr
    }

    async function writeToken(): Promise<void> {
      const args = ['machine', 'token', '--state', mesh.stateFolder, '-n', 'shop', '-a', 'store', '-l', 'app=store']
      await writeFile(join(folder, 'token'), run(process.execPath, [osm, ...args]), { mode: 0o600 })
    }

    const joinArgs = (name: string, more: readonly string[]): readonly string[] => [
      ...['machine', 'join', mesh.mesh.machinesUrl() ?? '', '--state', join(folder, name), '--name', name],
      ...['--port', String(PORT), '--class', machineClass.name, '--token-file', join(folder, 'token'), ...more],
    ]
    function startJoin(name: string, more: readonly string[]): ChildProcess {
      const args = [process.execPath, osm, ...joinArgs(name, [...machineClass.args, ...more])]
      const { path } = machineClass
      const child = spawn('ip', [...network.inside, ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, ...(path !== undefined && { PATH: `${path}:${process.env.PATH ?? ''}` }) },
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

    const untilAnswered = () =>
      eventually(
        async () => (said.includes('Ready: callers') ? ask('shop/client') : 'not ready'),
        (by) => by === 'machine',
        { what: 'an answer of the machine' },
      ).catch((error: unknown) => {
        throw new Error(`osm machine join said: ${said}`, { cause: error })
      })

    async function end(child: ChildProcess): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill()
      await ended
    }

    beforeAll(async () => {
      expect(kernelTestObstacle()).toBeUndefined()
      removeLeftovers('osmtest-')
      network.create()
      network.etc({ hosts: '127.0.0.1 localhost\n' })
      folder = await mkdtemp(join(tmpdir(), 'osm-machine-loaded-'))
      machineClass = await prepare(folder)
      mesh = await startTestMesh(
        {
          'mesh.yaml': [
            meshConfig({
              sidecar: { sidecarClass: 'envoy', sidecarDrivers: [{ sidecarName: machineClass.name }] },
              traffic: { enablePermissiveTrafficPolicyMode: false, enableEgress: false },
            }),
            ...['client', 'stranger', 'store', 'books'].map((name) => account(`shop/${name}`)),
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
        machineClass.loaded,
        { machineAddress: network.mesh },
      )
      const app = spawn('ip', [...network.inside, process.execPath, programs.http], {
        env: { ...process.env, PORT: String(PORT), NAME: 'machine' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(app)
      await once(app.stdout, 'data')
    })
    afterAll(async () => {
      for (const child of children) await end(child)
      await mesh.stop()
      network.remove()
      await rm(folder, { recursive: true, force: true })
    })

    const refused = async (stateName: string, args: readonly string[]): Promise<string> => {
      await writeToken()
      return inside(process.execPath, osm, ...joinArgs(stateName, args))
    }
    more(() => ({ refused, folder, machineClass }))

    it('joins by the patch of the driver, and policy holds', async () => {
      await writeToken()
      const joined = startJoin('rack-9', [])
      await untilAnswered()
      await expect(ask('shop/stranger')).resolves.toBe('403')
      const call = ['-s', '-m', '10', '-o', '/dev/null', '-w', '%{http_code} %header{server}']
      expect(inside('curl', ...call, '--proxy', 'http://127.0.0.1:15100', 'http://books.shop:8080/')).toBe('200 books')
      await end(joined)
      expect(inside(process.execPath, osm, 'machine', 'leave', '--state', join(folder, 'rack-9'))).toContain('has left')
    })

    it('redirects connections by what the driver says', async () => {
      await writeToken()
      const joined = startJoin('rack-10', ['--transparent'])
      await untilAnswered()
      await expect(ask('shop/stranger')).resolves.toBe('403')
      const call = ['-s', '-m', '10', '-o', '/dev/null', '-w', '%{http_code} %header{server}']
      expect(inside('curl', ...call, 'http://books.shop:8080/')).toBe('200 books')
      expect(inside('ip6tables-save')).toContain('OSM_PROXY_OUTBOUND')
      await end(joined)
      expect(`${inside('iptables-save')}${inside('ip6tables-save')}`).not.toContain('OSM_PROXY_')
    })
  })
}
