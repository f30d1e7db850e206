import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { expect, it } from '@jest/globals'

import { describeMachineOfClass } from './support/describe-machine-of-class.js'
import { haproxyBinary, haproxyPackage } from './support/haproxy-package.js'
import { MachineNetwork } from './support/machine-network.js'

describeMachineOfClass(
  new MachineNetwork('loaded', 9),
  async (folder) => {
    const loaded = await haproxyPackage(folder)
    const { name, list, sidecar } = loaded
    const args = ['--driver-packages', list, '--sidecar', `${name}=${sidecar}`]
    return { name, loaded, args, path: dirname(haproxyBinary()) }
  },
  (machine) => {
    it('is refused without the driver, or with another one than the list names, before its token is used', async () => {
      const { machine: joining, machineClass } = machine()
      const { name, args } = machineClass
      const [, list = ''] = args
      /** What `osm machine join` says with these options in place of those of the class, and a token that is not used. */
      const refused = async (state: string, given: readonly string[]): Promise<string> => {
        const [, , url = ''] = joining.joinArgs(state)
        const options = ['--state', joining.state(state), '--name', state, '--class', name]
        return joining.osm('machine', 'join', url, ...options, ...(await joining.tokenFile()), ...given).output
      }
      await expect(refused('bare', [])).resolves.toMatch(/no driver of sidecar class .*OSM_JOIN_CLASS/s)
      const other = list.replace(/"(sha\d+)-.{4}/, '"$1-AAAA')
      expect(other).not.toBe(list)
      await expect(refused('changed', ['--driver-packages', other])).resolves.toMatch(
        /OSM_DRIVER_INTEGRITY.*OSM_JOIN_CLASS/s,
      )
      const states = ['bare', 'changed'].map((state) => existsSync(join(joining.state(state), 'machine.json')))
      expect(states).toEqual([false, false])
    })
  },
)
