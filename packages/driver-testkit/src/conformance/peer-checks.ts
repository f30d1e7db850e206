import type { Credential } from '@osm-ts/driver-api'
import { hashPart, type Part } from '@osm-ts/driver-api/policy'

import { testAuthority } from '../test-certificates.js'
import { type Check, expect } from './check.js'
import { connectPeer, type Peer } from './peer.js'
import { expectHealthy, type Running, settles, whileRunning } from './running.js'

const UUID = 'c0ffee00-0000-4000-8000-000000000001'
const IDENTITY = 'bookbuyer.default'
/** Long enough ago for any tolerance. */
const LONG_EXPIRED = new Date(Date.now() - 12 * 60 * 60 * 1000)

/** Who may connect to the control plane of a driver, whatever is spoken afterwards. */
export const peerChecks: readonly Check[] = [
  {
    id: 'peers.mutual-tls',
    proves: 'a proxy with a certificate of the control plane is taken, and is shown the certificate that the host gave',
    prove: (subject, signal) =>
      whileRunning(subject, async (running) => {
        const peer = await connect(running, running.host.admit(UUID).credential, signal)
        expectTaken(peer, 'a proxy with a certificate of the control plane')
        expect(
          peer.serverSerial === (await current(running)).serialNumber,
          'the server shows another certificate than that of proxyServiceCert',
        )
        peer.socket.destroy()
      }),
  },
  ...strangers().map(({ id, who, credentialOf }): Check => ({
    id: `peers.${id}`,
    proves: `${who} is refused`,
    prove: (subject, signal) =>
      whileRunning(subject, async (running) => {
        const peer = await connect(running, credentialOf(running), signal)
        // Some servers look at certificates after their handshake.
        if (peer.taken) await settles(subject, () => peer.socket.destroyed)
        expect(!peer.taken || peer.socket.destroyed, `${who} is connected`)
        expect(running.host.reports.length === 0, `something was reported for ${who}`)
        await expectHealthy(running.probes)
      }),
  })),
  {
    id: 'rotation.server',
    proves: 'a new control-plane certificate is shown to new connections without a restart',
    prove: (subject, signal) =>
      whileRunning(subject, async (running) => {
        const { credential } = running.host.admit(UUID)
        running.host.rotateServer('ads-2')
        const { serialNumber } = await current(running)
        const shown = await settles(subject, async () => {
          const peer = await connect(running, credential, signal)
          if (peer.taken) peer.socket.destroy()
          return peer.taken && peer.serverSerial === serialNumber
        })
        expect(shown, 'the new certificate is not shown')
        await expectHealthy(running.probes)
      }),
  },
  {
    id: 'rotation.client-roots',
    proves: 'proxies of a new root are taken, those of a withdrawn one refused, without a restart',
    prove: (subject, signal) =>
      whileRunning(subject, async (running) => {
        const { host } = running
        const { commonName, credential: old } = host.admit(UUID)
        const next = testAuthority('control-plane-2')
        const fresh = next.issue(commonName)
        const becomes = (credential: Credential, taken: boolean) =>
          settles(subject, async () => {
            const peer = await connect(running, credential, signal)
            if (peer.taken) peer.socket.destroy()
            return peer.taken === taken
          })
        host.rotateServer('ads-2', [next.certificate, host.controlPlane.certificate])
        expect(await becomes(fresh, true), 'a proxy of the new root is refused')
        host.rotateServer('ads-3', [next.certificate])
        expect(await becomes(old, false), 'a proxy of the withdrawn root is still taken')
        expect(await becomes(fresh, true), 'a proxy of the new root is refused once the old root is gone')
      }),
  },
  {
    id: 'updates.while-running',
    proves: 'policies, trust bundles, identities and evictions that change while no one is connected do no harm',
    prove: (subject) =>
      whileRunning(subject, async ({ host, probes }) => {
        host.admit(UUID)
        for (let round = 0; round < 20; round += 1) {
          const part = { kind: 'extension', id: 'kit', class: 'other', type: 'kit', value: round } as unknown as Part
          host.publishPolicy(UUID, { extensions: [hashPart(part)] }, [part])
          host.rotateIdentity(IDENTITY)
          host.roots.set({ id: String(round), certificates: [host.services.certificate] })
          host.evict(UUID, `session-${round}`, 'superseded')
        }
        await expectHealthy(probes)
        expect(host.reports.length === 0, 'apply states were reported for a proxy that never connected')
      }),
  },
  {
    id: 'secrets.said',
    proves: 'no private key is in logs, metrics, reports or debug pages',
    prove: (subject, signal) =>
      whileRunning(subject, async (running) => {
        const { host } = running
        const { credential } = host.admit(UUID)
        host.publishPolicy(UUID)
        for (const shown of [credential, host.services.issue('x'), undefined]) {
          const peer = await connect(running, shown, signal)
          if (peer.taken) peer.socket.destroy()
        }
        const said = await host.everythingSaid()
        const keys = [credential.privateKey, (await current(running)).privateKey]
        expect(!said.includes('PRIVATE KEY'), 'something that was said holds a private key')
        for (const key of keys)
          expect(!said.includes(keyBody(key)), 'something that was said holds the body of a private key')
      }),
  },
]

function connect({ host, port }: Running, credential: Credential | undefined, signal: AbortSignal): Promise<Peer> {
  const roots = host.controlPlane.certificate
  return connectPeer({ port, roots, signal, ...(credential === undefined ? {} : { credential }) })
}

function expectTaken(peer: Peer, who: string): asserts peer is Extract<Peer, { taken: true }> {
  expect(peer.taken, `${who} is refused: ${peer.taken ? '' : peer.reason}`)
}

/** What the host gives to the server at the moment. */
async function current({ host }: Running): Promise<Credential> {
  for await (const { credential } of host.serverTrust.watch(new AbortController().signal)) return credential
  throw new TypeError('the host has a certificate from the beginning')
}

/** Without the lines around it, by which it might be overlooked. */
function keyBody(pem: string): string {
  return pem.split('\n')[1] ?? pem
}

interface Stranger {
  readonly id: string
  readonly who: string
  readonly credentialOf: (running: Running) => Credential | undefined
}

function strangers(): readonly Stranger[] {
  return [
    { id: 'no-certificate', who: 'a peer without a certificate', credentialOf: () => undefined },
    {
      id: 'foreign-authority',
      who: 'a peer with a certificate of another authority, under the name of a proxy',
      credentialOf: ({ host }) => testAuthority('another').issue(host.admit(UUID).commonName),
    },
    {
      id: 'service-certificate',
      who: 'a workload with its service certificate, which opens no control plane,',
      credentialOf: ({ host }) => host.rotateIdentity(IDENTITY),
    },
    {
      id: 'expired-certificate',
      who: 'a proxy whose certificate has expired',
      credentialOf: ({ host }) => host.controlPlane.issue(host.admit(UUID).commonName, { notAfter: LONG_EXPIRED }),
    },
  ]
}
