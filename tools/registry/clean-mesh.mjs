import { spawn } from 'node:child_process'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect } from 'node:tls'
import { root } from '../lib/paths.mjs'
import { mustRun } from './packed-packages.mjs'

// Bounds against hanging, not measures of speed: machines are shared and slow at times.
const trafficMilliseconds = 150_000
const refusalMilliseconds = 5_000

/**
 * @typedef {object} Inbound what `osm proxy config -o json` says of a sidecar, as far as it matters here
 * @property {{ class: string, inbound: { part: string, listen: { address: string, port: number } }[], trust: string }} proxy
 * @property {Record<string, { roots: string[], serverNames: string[] }>} parts
 */

/**
 * Runs a mesh of a class whose driver was installed by its name, and sees that requests pass by mutual TLS.
 * @param {{ folder: string, sidecarClass: string, driverPackage: string, sidecarProgram: string, path?: string, signal: AbortSignal }} options folder has the packages installed;
 *   path is looked through for programs before that of this process
 * @returns {Promise<string>} what was seen
 */
export async function tryCleanMesh({ folder, sidecarClass, driverPackage, sidecarProgram, path, signal }) {
  const bin = join(folder, 'node_modules/.bin')
  const driver = join(folder, 'node_modules', driverPackage)
  const inspected = JSON.parse(await mustRun(folder, join(bin, 'osm'), 'driver', 'inspect', driver, '-o', 'json'))
  const list = join(folder, 'drivers.json')
  const entry = { name: sidecarClass, path: driver, integrity: inspected.integrity }
  await writeFile(list, JSON.stringify({ drivers: [entry] }))
  const mesh = join(folder, 'mesh')
  await mkdir(mesh)
  await cp(join(root, 'tools/registry/mesh'), mesh, { recursive: true })
  const args = ['standalone', 'run', 'mesh', '-o', 'json', '--class', sidecarClass, '--driver-packages', list]
  const sidecar = ['--sidecar', `${sidecarClass}=${join(bin, sidecarProgram)}`]
  const running = spawn(join(bin, 'osm'), [...args, ...sidecar], {
    cwd: folder,
    env: { ...process.env, PATH: [path, process.env.PATH].filter(Boolean).join(delimiter) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  /** @type {Promise<void>} */
  const ended = new Promise((resolve) => running.once('close', () => resolve()))
  const stop = () => running.kill('SIGINT')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    const answered = await traffic(running)
    const config = JSON.parse(await mustRun(folder, join(bin, 'osm'), 'proxy', 'config', 'shop-0', '-o', 'json'))
    return `${answered}; ${await strangerIsRefused(config, sidecarClass)}`
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
    await ended
  }
}

/**
 * Waits until the open room was seen, and the closed one was not.
 * @param {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, import('node:stream').Readable>} running
 * @returns {Promise<string>}
 */
async function traffic(running) {
  const said = { stderr: '', last: '' }
  running.stderr.setEncoding('utf8').on('data', (/** @type {string} */ text) => (said.stderr += text))
  const timer = setTimeout(() => running.kill('SIGINT'), trafficMilliseconds)
  const seen = new Set()
  try {
    for await (const line of createInterface({ input: running.stdout })) {
      const event = JSON.parse(line)
      if (event.type === 'request') {
        const { path, status, server = '-' } = event.request
        seen.add(`${path} ${status} ${server}`)
      } else if (event.type !== 'output') said.last = line
      if (seen.has('/open 200 shop-0') && seen.has('/closed 403 -'))
        return 'requests that a policy allows are answered by shop-0, others by 403'
    }
  } finally {
    clearTimeout(timer)
  }
  throw new Error(`the mesh has shown ${[...seen].join(', ') || 'no request'}; ${said.last}\n${said.stderr}`)
}

/**
 * Calls the sidecar of the shop as no one: its certificate is one of the mesh, and without one of ours nothing is answered.
 * @param {Inbound} config
 * @param {string} sidecarClass
 * @returns {Promise<string>}
 */
async function strangerIsRefused({ proxy, parts }, sidecarClass) {
  if (proxy.class !== sidecarClass) throw new Error(`the sidecar of the shop is of class ${proxy.class}`)
  const [inbound] = proxy.inbound
  if (inbound === undefined) throw new Error('the shop has no listener')
  const [servername] = parts[inbound.part]?.serverNames ?? []
  const { address: host, port } = inbound.listen
  const socket = connect({ host, port, servername, ca: parts[proxy.trust]?.roots ?? [], ALPNProtocols: ['http/1.1'] })
  let subject = ''
  let answer = ''
  let end = 'nothing for 5 s'
  socket.setTimeout(refusalMilliseconds, () => socket.destroy())
  socket.once('secureConnect', () => {
    subject = String(socket.getPeerCertificate().subject.CN)
    socket.write(`GET /open HTTP/1.1\r\nhost: shop.store\r\nconnection: close\r\n\r\n`)
  })
  socket.setEncoding('utf8').on('data', (/** @type {string} */ text) => (answer += text))
  await new Promise((resolve) => {
    socket.once('error', (/** @type {NodeJS.ErrnoException} */ error) => (end = error.code ?? error.message))
    socket.once('close', resolve)
  })
  if (answer !== '') throw new Error(`a caller without a certificate is answered: ${answer}`)
  if (subject !== 'shop.store.cluster.local') throw new Error(`the sidecar shows no certificate of the mesh: ${end}`)
  return `its sidecar shows the certificate of ${subject}, and refuses a caller without one: ${end}`
}
