import { rm } from 'node:fs/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { kernelTestObstacle, removeLeftovers } from './kernel.js'
import type { MachineNetwork } from './machine-network.js'
import { type LoadedClass, programs } from './mesh.js'
import { MACHINE_PORT, storeMesh, TestMachine } from './test-machine.js'

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
  readonly machine: TestMachine
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
    let folder: string
    let machineClass: MachineClass
    let machine: TestMachine

    beforeAll(async () => {
      expect(kernelTestObstacle()).toBeUndefined()
      removeLeftovers('osmtest-')
      network.create()
      network.etc({ hosts: '127.0.0.1 localhost\n' })
      folder = await TestMachine.folder()
      machineClass = await prepare(folder)
      const { name, args, loaded, path } = machineClass
      machine = await TestMachine.start(
        network,
        storeMesh({ sidecar: { sidecarClass: 'envoy', sidecarDrivers: [{ sidecarName: name }] } }),
        {
          folder,
          classArgs: ['--class', name, ...args],
          ...(loaded !== undefined && { loaded }),
          ...(path !== undefined && { path }),
        },
      )
      await machine.serve(programs.http, { PORT: String(MACHINE_PORT), NAME: 'machine' })
    })
    afterAll(async () => {
      await machine.close()
      network.remove()
      await rm(folder, { recursive: true, force: true })
    })

    more(() => ({ machine, machineClass }))

    it('joins by the patch of the driver, and policy holds', async () => {
      const joined = machine.start('rack-9', await machine.tokenFile())
      await machine.untilAnswered()
      await expect(machine.ask('shop/stranger')).resolves.toBe('403')
      expect(machine.call('http://books.shop:8080/', '--proxy', 'http://127.0.0.1:15100')).toBe('200 books')
      await machine.end(joined)
      expect(machine.osm('machine', 'leave', '--state', machine.state('rack-9')).output).toContain('has left')
    })

    it('redirects connections with the interception options of the driver', async () => {
      const joined = machine.start('rack-10', ['--transparent', ...(await machine.tokenFile())])
      await machine.untilAnswered()
      await expect(machine.ask('shop/stranger')).resolves.toBe('403')
      expect(machine.call('http://books.shop:8080/')).toBe('200 books')
      expect(machine.inside('ip6tables-save').output).toContain('OSM_PROXY_OUTBOUND')
      await machine.end(joined)
      const left = ['iptables-save', 'ip6tables-save'].map((program) => machine.inside(program).output)
      expect(left.join('')).not.toContain('OSM_PROXY_')
    })
  })
}
