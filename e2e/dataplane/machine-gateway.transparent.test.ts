import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { GatewayNetwork } from './support/gateway-network.js'
import { kernelTestObstacle, removeLeftovers } from './support/kernel.js'
import { programs } from './support/mesh.js'
import { MACHINE_PORT, storeMesh, TestMachine } from './support/test-machine.js'
import { service, trafficTarget } from './support/yaml.js'

const network = new GatewayNetwork('apart', 11)
const GATEWAY_PORT = 15_443
const ROGUE_PORT = 15_444
/** First port of the sidecar's listeners for callers, after its own three. */
const LISTENER = 15_103
const rules = [{ kind: 'HTTPRouteGroup', name: 'any' } as const]

/** A machine of another mesh: it has no certificate of this one. */
const rogueWorkload = `
apiVersion: policy.openservicemesh.io/v1alpha1
kind: ExternalWorkload
metadata: { name: rogue, namespace: shop, labels: { app: rogue } }
spec:
  addresses: [${network.machine}]
  serviceAccount: rogue
  sidecar: {}
  network: { name: elsewhere, gateway: { address: ${network.outer}, port: ${ROGUE_PORT} } }
`

/** Ends TLS with a certificate that it has made itself, and says what it was sent. */
const rogueServer = `
  const { execFileSync } = require('node:child_process')
  const [address, port] = process.argv.slice(1)
  const made = execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
    '-days', '1', '-subj', '/CN=rogue.shop.cluster.local', '-addext', 'subjectAltName=DNS:rogue.shop.cluster.local',
    '-keyout', '-'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  require('node:tls').createServer({ key: made, cert: made }, (socket) => {
    socket.on('error', () => {}).on('data', () => console.log('request'))
  }).on('tlsClientError', () => console.log('refused')).listen(Number(port), address, () => console.log('open'))`

function isRefused(file: string, args: readonly string[]): boolean {
  return spawnSync(file, args, { timeout: 120_000 }).status !== 0
}

describe('a machine behind a gateway', () => {
  const children: ChildProcess[] = []
  let machine: TestMachine
  let joined: ChildProcess
  let rogue = ''
  let token: readonly string[]
  let booksPort: number

  const gatewayArgs = (gateway: string): readonly string[] => ['--network', 'onprem', '--gateway', gateway]

  async function portOf(name: string): Promise<number> {
    const page = JSON.parse(await machine.mesh.debug(`/debug/services?service=shop/${name}`)) as {
      readonly endpoints: readonly { readonly port: number }[]
    }
    const [first] = page.endpoints
    if (first === undefined) throw new Error(`shop/${name} has no endpoint`)
    return first.port
  }

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    removeLeftovers('osmtest-')
    network.create()
    machine = await TestMachine.start(network, [
      ...storeMesh({ traffic: { networkGateway: { address: network.inner, port: GATEWAY_PORT } } }),
      service('shop/rogue', 'rogue', MACHINE_PORT, { protocol: 'http' }),
      trafficTarget('shop/rogue', { to: 'shop/rogue', from: ['shop/client'], rules }),
      'apiVersion: v1\nkind: ServiceAccount\nmetadata: { name: rogue, namespace: shop }\n',
      rogueWorkload,
    ])
    booksPort = await portOf('books')
    network.forwardAllBut([booksPort])
    const store = { serverName: 'store.shop.svc.cluster.local', address: network.machine }
    children.push(
      await network.startEnvoy(machine.folder, [
        {
          name: 'store-explicit',
          listen: { address: network.outer, port: GATEWAY_PORT },
          serverName: store.serverName,
          to: { address: store.address, port: LISTENER },
        },
        {
          name: 'store-redirected',
          listen: { address: network.outer, port: MACHINE_PORT },
          serverName: store.serverName,
          to: { address: store.address, port: MACHINE_PORT },
        },
        {
          name: 'books',
          listen: { address: network.inner, port: GATEWAY_PORT },
          serverName: 'books.shop.svc.cluster.local',
          to: { address: network.mesh, port: booksPort },
        },
      ]),
    )
    const args = [...network.onGateway, process.execPath, '-e', rogueServer, network.outer, String(ROGUE_PORT)]
    const server = spawn('ip', args, { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(server)
    server.stdout.setEncoding('utf8').on('data', (piece: string) => (rogue += piece))
    await once(server.stdout, 'data')
    await machine.serve(programs.http, { PORT: String(MACHINE_PORT), HOST: '0.0.0.0', NAME: 'machine' })
  })
  afterAll(async () => {
    for (const child of children) await machine.end(child)
    await machine.close()
    network.remove()
  })

  it('is not reached past the gateway, and reaches no workload past it', () => {
    const connect = (address: string, port: number) => ['-s', '-m', '5', `telnet://${address}:${String(port)}`]
    expect(isRefused('curl', ['-s', '-m', '5', `http://${network.machine}:${String(MACHINE_PORT)}/`])).toBe(true)
    expect(machine.inside('curl', ...connect(network.mesh, booksPort)).code).toBe(7)
  })

  it('is called through it, by its own certificate and under policy', async () => {
    joined = machine.start('rack-11', [
      ...gatewayArgs(`${network.outer}:${String(GATEWAY_PORT)}`),
      ...(await machine.tokenFile()),
    ])
    await machine.untilAnswered()
    await expect(machine.ask('shop/stranger')).resolves.toBe('403')
    expect(network.connections()).toMatchObject({ 'store-explicit': expect.any(Number), 'store-redirected': 0 })
    expect(network.connections()['store-explicit']).toBeGreaterThanOrEqual(1)
  })

  it('calls workloads through the gateway of the mesh', () => {
    expect(network.connections()['books']).toBe(0)
    expect(machine.call('http://books.shop:8080/', '--proxy', 'http://127.0.0.1:15100')).toBe('200 books')
    expect(network.connections()['books']).toBeGreaterThanOrEqual(1)
  })

  it('is not trusted because a gateway leads there: a server without a certificate of the mesh is sent nothing', async () => {
    await expect(machine.ask('shop/client', 'http://rogue.shop:8080/')).resolves.toBe('503')
    await eventually(
      () => rogue,
      (said) => said.includes('refused'),
      { what: 'that the caller ends the handshake' },
    )
    expect(rogue).not.toContain('request')
  })

  it('may not name a gateway at loopback or at metadata of a cloud, and keeps its token then', async () => {
    token = await machine.tokenFile()
    for (const address of ['127.0.0.1', '169.254.169.254']) {
      const { code, output } = machine.osm(...machine.joinArgs('rack-13', [...gatewayArgs(address), ...token]))
      expect([code, output]).toEqual([1, expect.stringMatching(/gateway: .*OSM_MACHINE_REQUEST/s)])
    }
  })

  it('is called at the ports of its Services where the gateway names none, with connections redirected', async () => {
    await machine.end(joined)
    expect(machine.osm('machine', 'leave', '--state', machine.state('rack-11')).code).toBe(0)
    joined = machine.start('rack-12', ['--transparent', ...gatewayArgs(network.outer), ...token])
    await machine.untilAnswered()
    await expect(machine.ask('shop/stranger')).resolves.toBe('403')
    expect(network.connections()['store-redirected']).toBeGreaterThanOrEqual(1)
    expect(machine.call('http://books.shop:8080/')).toBe('200 books')
  })
})
