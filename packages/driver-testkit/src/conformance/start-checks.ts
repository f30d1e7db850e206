import { validateHealthProbes } from '@osm-ts/driver-api'
import { Latest } from '@osm-ts/driver-api/toolkit'

import { type Check, codeOf, expect, expectNone, reasonOf, type Subject } from './check.js'
import { connectPeer } from './peer.js'
import {
  contextOf,
  expectHealthy,
  freePort,
  hostOf,
  isTaken,
  leftOver,
  openResources,
  settles,
  takenPort,
  whileRunning,
} from './running.js'

const STARTS = 5

/** What the controller asks of a driver, its proxies aside. */
export const startChecks: readonly Check[] = [
  {
    id: 'start.probes',
    proves: 'start resolves when the control plane listens, with probes that fit their schema and succeed',
    prove: (subject) =>
      whileRunning(subject, async ({ port, probes }) => {
        expectNone('the probes do not fit their schema', validateHealthProbes(probes))
        expect(await isTaken(port), `start has resolved, but port ${port} does not listen`)
        await expectHealthy(probes)
      }),
  },
  {
    id: 'start.stopped',
    proves: 'stopped is pending while the control plane runs, and resolves once the signal has closed its port',
    prove: (subject) =>
      whileRunning(subject, async ({ host, port, probes, stopped }) => {
        expect(stopped instanceof Promise, 'start must return { probes, stopped }; stopped is not a promise')
        let end: 'pending' | 'resolved' | 'rejected' = 'pending'
        void stopped.then(
          () => (end = 'resolved'),
          () => (end = 'rejected'),
        )
        await expectHealthy(probes)
        expect(is(end, 'pending'), 'stopped has settled although the control plane runs')
        host.stop()
        expect(await settles(subject, () => !is(end, 'pending')), 'stopped is still pending after the signal')
        expect(is(end, 'resolved'), 'stopped has rejected after the signal')
        expect(!(await isTaken(port)), `stopped has resolved, but port ${port} still listens`)
      }),
  },
  {
    id: 'start.abort',
    proves: 'the signal ends everything that start opened: ports, connections, probes, timers',
    prove: async (subject, signal) => {
      // What is loaded at the first start stays; what stays of the second one leaks.
      await whileRunning(subject, async () => {})
      const before = openResources()
      await whileRunning(subject, async ({ host, port, probes }) => {
        const { credential } = host.admit('c0ffee00-0000-4000-8000-000000000001')
        const peer = await connectPeer({ port, roots: host.controlPlane.certificate, credential, signal })
        host.stop()
        expect(
          await settles(subject, async () => !(await isTaken(port))),
          `port ${port} is still open after the signal`,
        )
        if (peer.taken) expect(await settles(subject, () => peer.socket.destroyed), 'a connection outlives the signal')
        for (const [name, probe] of Object.entries(probes) as [string, { port: number }][])
          expect(
            await settles(subject, async () => !(await isTaken(probe.port))),
            `the ${name} probe is still answered`,
          )
      })
      const clean = await settles(subject, () => leftOver(before).length === 0)
      expect(clean, `left open after the signal: ${leftOver(before).join(', ')}`)
    },
  },
  {
    id: 'start.again',
    proves: `a driver can be started ${STARTS} times one after the other on one port, and twice at once on two`,
    prove: async (subject) => {
      const port = await freePort()
      for (let start = 0; start < STARTS; start += 1)
        await whileRunning(subject, ({ probes }) => expectHealthy(probes), port)
      await whileRunning(subject, (first) =>
        whileRunning(subject, async (second) => {
          await expectHealthy(second.probes)
          await expectHealthy(first.probes)
        }),
      )
    },
  },
  {
    id: 'start.port-in-use',
    proves: 'a port that is taken is refused with OSM_DRIVER_START, which names address and port, and nothing is left',
    prove: async (subject) => {
      const taken = await takenPort()
      try {
        const before = openResources()
        const message = await refusal(subject, taken.port)
        expect(
          message.includes(`127.0.0.1:${taken.port}`),
          `the error does not name the address 127.0.0.1:${taken.port}: ${message}`,
        )
        expect(await settles(subject, () => leftOver(before).length === 0), `left open: ${leftOver(before).join(', ')}`)
      } finally {
        await taken.close()
      }
    },
  },
  {
    id: 'start.bad-certificate',
    proves: 'an invalid control-plane certificate is refused with OSM_DRIVER_START, and the port stays free',
    prove: async (subject) => {
      const port = await freePort()
      await refusal(subject, port, { chain: 'no certificate', privateKey: 'no key', expiry: '', serialNumber: '1' })
      expect(
        await settles(subject, async () => !(await isTaken(port))),
        `port ${port} is open although start has failed`,
      )
    },
  },
  {
    id: 'start.aborted-early',
    proves: 'start ends when the signal aborts before there is a certificate, and opens nothing afterwards',
    prove: async (subject) => {
      const port = await freePort()
      const host = hostOf(subject)
      const never = new Latest<never>()
      const proxyServiceCert = { watch: (signal: AbortSignal) => never.watch(signal) }
      const ended = subject.driver.start(contextOf(subject, host, { proxyServerPort: port, proxyServiceCert })).then(
        () => true,
        () => true,
      )
      host.stop()
      let over = false
      void ended.then(() => {
        over = true
      })
      expect(await settles(subject, () => over), 'start does not end with its signal while it waits for a certificate')
      expect(
        await settles(subject, async () => !(await isTaken(port))),
        `port ${port} is open although the signal aborted`,
      )
    },
  },
]

/** Compares what a callback may have changed, which the compiler does not see. */
function is(state: string, expected: string): boolean {
  return state === expected
}

/** The message of the error that `start` has to reject with. */
async function refusal(
  subject: Subject,
  port: number,
  credential?: { chain: string; privateKey: string; expiry: string; serialNumber: string },
): Promise<string> {
  const host = hostOf(subject)
  if (credential !== undefined)
    host.serverTrust.set({ credential, clientRoots: { id: 'bad', certificates: [host.controlPlane.certificate] } })
  try {
    await subject.driver.start(contextOf(subject, host, { proxyServerPort: port }))
  } catch (error) {
    expect(codeOf(error) === 'OSM_DRIVER_START', `expected OSM_DRIVER_START, got ${reasonOf(error)}`)
    return error instanceof Error ? error.message : ''
  } finally {
    host.stop()
  }
  return Promise.reject(new Error('start has resolved where it cannot serve'))
}
