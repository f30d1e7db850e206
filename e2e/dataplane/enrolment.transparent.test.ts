import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { eventually } from '@osm-ts/driver-api/toolkit'

import { type ProgramOutside, startOutside } from './support/program-outside.js'
import { httpAndTcpWorkload, workloadAt } from './support/http-and-tcp.js'
import { loadInside } from './support/inside-load.js'
import { inside, type Inside } from './support/inside.js'
import { kernelTestObstacle, run } from './support/kernel.js'
import { programs, startTestMesh, type TestMesh } from './support/mesh.js'
import { account, meshConfig, service, withSpec, workload } from './support/yaml.js'

const HTTP = 8080
const TCP = 9000
/** For which the controller hangs. */
const HANG_MS = 8000
const permissive = { enablePermissiveTrafficPolicyMode: true, enableEgress: false }
const enrolling = meshConfig({ traffic: { ...permissive, plaintextNamespaces: ['shop'] } })
const strict = meshConfig({ traffic: permissive })
const smi = meshConfig({
  traffic: { ...permissive, enablePermissiveTrafficPolicyMode: false, plaintextNamespaces: ['shop'] },
})
const web = { account: 'web', app: 'web' }
const meshed = (name: string): string => httpAndTcpWorkload(`shop/${name}`, web, { http: HTTP, tcp: TCP })

// A pod without a sidecar is a program in a namespace that the mesh does not know, at an address that the folder names.
describe('a namespace that is enrolled step by step', () => {
  let mesh: TestMesh
  let client: Inside
  let bare: ProgramOutside

  const old = (): string => workloadAt(bare.address, 'shop/old', web, [HTTP, TCP])
  const ask = () => client.ask({ kind: 'http', dial: 'web.shop', port: HTTP, host: 'web.shop' })
  const answeredBy = (name: string) =>
    eventually(ask, ({ server }) => server === name, { what: `an answer of ${name}` })
  /** Servers of the next answers. */
  const servers = async (count: number): Promise<readonly string[]> => {
    const answers = await Promise.all(Array.from({ length: count }, () => ask()))
    return [...new Set(answers.map(({ server, status, error }) => server ?? error ?? String(status)))].sort()
  }

  beforeAll(async () => {
    expect(kernelTestObstacle()).toBeUndefined()
    mesh = await startTestMesh(
      {
        'config.yaml': [enrolling],
        'shop.yaml': [
          account('shop/client'),
          account('shop/web'),
          workload('shop/client', { program: programs.idle }),
          withSpec(service('shop/web', 'web', HTTP), {
            ports: [
              { name: 'http', port: HTTP },
              { name: 'tcp-bytes', port: TCP },
            ],
          }),
        ],
      },
      { mode: 'transparent' },
    )
    client = inside(mesh, 'shop/client')
    bare = await startOutside(client.address, 'bare', { http: HTTP, tcp: TCP })
    await mesh.write('old.yaml', old())
    await answeredBy('bare')
  })
  afterAll(async () => {
    await bare.stop()
    await mesh.stop()
  })

  it('loses no request while its endpoints get sidecars one by one and lose them again', async () => {
    const load = await loadInside(namespaceOf(mesh), `http://web.shop:${HTTP}/`, { kept: 2, fresh: 2 })
    const start = performance.now()
    const steps: string[] = []
    const note = (step: string): void => void steps.push(`${step} at ${Math.round(performance.now() - start)} ms`)
    await mesh.apply('first.yaml', meshed('first'))
    await answeredBy('first')
    note('first answers')
    await mesh.write('old.yaml')
    await mesh.settled()
    await eventually(
      () => servers(6),
      (all) => all.join() === 'first',
      { what: 'nothing for the one without' },
    )
    note('only first answers')
    await mesh.apply('second.yaml', meshed('second'))
    await answeredBy('second')
    note('second answers')
    await mesh.write('old.yaml', old())
    await answeredBy('bare')
    note('the controller hangs')
    // Callers learn late that the two are about to end: later than drivers have sidecars wait for that.
    const controller = mesh.mesh.controllerPid() ?? 0
    process.kill(controller, 'SIGSTOP')
    await mesh.write('first.yaml')
    await mesh.write('second.yaml')
    await pause(HANG_MS)
    process.kill(controller, 'SIGCONT')
    note('the controller goes on')
    await eventually(
      () => servers(6),
      (all) => all.join() === 'bare',
      { what: 'the last sidecar to go' },
    )
    note('only the one without a sidecar answers')
    const { sent, failures } = await load.stop()
    // The steps tell when it failed.
    expect({ failures, steps }).toEqual({ failures: [], steps })
    expect(sent).toBeGreaterThan(500)
  })

  it('lets callers without a sidecar in, to HTTP and to bytes, while it is named', async () => {
    await mesh.apply('first.yaml', meshed('first'))
    await answeredBy('first')
    const { address } = inside(mesh, 'shop/first')
    await eventually(
      () => curl(`http://${address}:${HTTP}/`),
      (status) => status === '200',
      { what: 'an answer' },
    )
    expect(await bytes(address)).toBe('first')
    await mesh.apply('config.yaml', strict)
    await eventually(
      () => curl(`http://${address}:${HTTP}/`),
      (status) => status === '000',
      { what: 'a refusal' },
    )
    await expect(bytes(address)).resolves.toBe('')
  })

  it('sends nothing to endpoints without a sidecar while others have one, and reports them', async () => {
    expect(await servers(10)).toEqual(['first'])
    const problems = (await mesh.problems()).filter(({ code }) => code === 'OSM_POLICY_WITHOUT_SIDECAR')
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('1 of 2 endpoints have no sidecar'),
    ])
  })

  it('is unreachable where none has a sidecar, under either mode', async () => {
    await mesh.write('first.yaml')
    for (const config of [strict, smi]) {
      await mesh.apply('config.yaml', config)
      await eventually(ask, ({ status, error }) => status === 503 || error !== undefined, {
        what: 'that no one answers',
      })
    }
    // An instance that ends still counts as one that is to have a sidecar.
    await eventually(
      () => mesh.problems(),
      (all) =>
        all.some(
          ({ code, message }) => code === 'OSM_POLICY_WITHOUT_SIDECAR' && message.includes('no endpoint has a sidecar'),
        ),
      { what: 'that the problem says so' },
    )
  })
})

function namespaceOf(mesh: TestMesh): string {
  const { pid } = mesh.instance('shop/client')
  return run('ip', ['netns', 'identify', String(pid)]).trim()
}

/** Status of an answer to a caller on this machine, which has no sidecar; 000 without one. */
async function curl(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
    await response.arrayBuffer()
    return String(response.status)
  } catch {
    return '000'
  }
}

/** What a server of bytes says to a caller on this machine. */
async function bytes(address: string): Promise<string> {
  const { connect } = await import('node:net')
  return new Promise((resolve) => {
    const socket = connect(TCP, address)
    let heard = ''
    socket.setTimeout(10_000, () => socket.destroy())
    socket.on('connect', () => socket.write('hello\n'))
    socket.on('data', (data) => {
      heard += data.toString()
      socket.destroy()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(heard.split(/[\s:]/)[0] ?? ''))
  })
}
