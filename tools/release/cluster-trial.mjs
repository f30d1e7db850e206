import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { imageSettings } from '../images/assemble.mjs'
import { ensureImageNode } from '../images/node-binary.mjs'
import { nodeLayer } from '../images/program-image.mjs'
import { envoyImage, testAppImage, testAppName } from '../images/test-images.mjs'
import { bundlePrograms } from '../lib/bundle.mjs'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'
import { mustRun } from '../registry/packed-packages.mjs'
import { ensureEnvoy } from '../setup/envoy-binary.mjs'
import { ensureKubectlAndHelm } from '../setup/kubectl-and-helm.mjs'
import { pushArchive } from './image-registry.mjs'

/** At most ten characters: it is part of the name of a network link. */
const cluster = 'release'
const clusterFolder = `/var/lib/osm-cluster-${cluster}`
const namespace = 'shop'
const answerMilliseconds = 120_000

/**
 * Installs the published chart in a local cluster of one node, and calls from one pod of the mesh to another. The node pulls all images from
 * the registry; the sidecar and the application of the pods are pushed to it for that.
 * @param {{ folder: string, ociHost: string, version: string, osm: string, images: readonly string[] }} options osm: the installed command; images: references of the release
 * @returns {Promise<string>} what was seen
 */
export async function tryOnCluster({ folder, ociHost, version, osm, images }) {
  const { kubectl, helm } = await ensureKubectlAndHelm()
  const { app, sidecar } = await pushPodImages(ociHost)
  const bootstrap = join(root, 'tools/bootstrap.mjs')
  const clusterCommand = (/** @type {string[]} */ ...args) =>
    mustRun(root, process.execPath, bootstrap, 'cluster', ...args, '--name', cluster)
  await clusterCommand('up', '--nodes', '1')
  /** @type {(() => Promise<unknown>)[]} */
  const stops = []
  try {
    await forwardToNodes(folder, ociHost, stops)
    const kubeconfig = join(clusterFolder, 'admin.kubeconfig')
    const call = async (/** @type {string} */ program, /** @type {string[]} */ ...args) => {
      const { code, stdout, stderr } = await run(program, args, { env: { KUBECONFIG: kubeconfig } })
      if (code !== 0) throw new Error(`"${[program, ...args].join(' ')}" failed with ${code}: ${stderr}`)
      return stdout.toString()
    }
    const chart = ['install', 'osm', `oci://${ociHost}/charts/osm`, '--version', version, '--plain-http']
    const where = ['--namespace', 'osm-system', '--create-namespace', '--wait', '--timeout', '240s']
    const values = [`osm.sidecarImage=${sidecar}`, 'osm.enablePermissiveTrafficPolicy=true']
    await call(helm, ...chart, ...where, '--set', values.join(','))
    await call(kubectl, 'create', 'namespace', namespace)
    await call(osm, 'namespace', 'add', namespace)
    await createPods(kubeconfig, kubectl, app)
    await call(kubectl, 'wait', 'pod', '--all', '-n', namespace, '--for=condition=Ready', '--timeout=120s')
    const status = await callServer(call, kubectl)
    const imagesIn = async (/** @type {string[]} */ ...scope) => {
      const path = 'jsonpath={..containerStatuses[*].imageID} {..initContainerStatuses[*].imageID}'
      return (await call(kubectl, 'get', 'pods', ...scope, '-o', path)).split(/\s+/)
    }
    const sidecars = (await imagesIn('-n', namespace)).filter((image) => image === sidecar)
    if (sidecars.length !== 2) throw new Error(`${sidecars.length} pods have a sidecar, expected 2`)
    const used = await imagesIn('-A')
    const released = images.filter((image) => used.includes(image))
    if (released.length < 3) throw new Error(`pods run ${used.join(', ')}; expected images of ${images.join(', ')}`)
    return `status ${status} through two sidecars; pods run ${released.length} images of the release, pulled by digest`
  } finally {
    for (const stop of stops) await stop()
    await clusterCommand('down')
  }
}

/** @param {string} ociHost */
async function pushPodImages(ociHost) {
  await bundlePrograms([testAppName])
  const settings = imageSettings({ registry: `${ociHost}/osm-ts` })
  const node = await ensureImageNode()
  const app = testAppImage(settings, await nodeLayer(node.path, `v${node.version}`))
  const sidecar = await envoyImage(settings, `${ociHost}/envoyproxy/envoy:trial`, await ensureEnvoy())
  for (const { archive } of [app, sidecar]) await pushArchive(`http://${ociHost}`, archive)
  return { app: digested(app), sidecar: digested(sidecar) }
}

/** @param {import('../images/oci-image.mjs').Image} image */
function digested({ name, digest }) {
  return `${name.slice(0, name.lastIndexOf(':'))}@${digest}`
}

/**
 * Nodes have networks of their own, and containerd speaks plain HTTP with the loopback address only.
 * @param {string} folder
 * @param {string} ociHost
 * @param {(() => Promise<unknown>)[]} stops is given what ends the forwarding, also if that fails halfway
 */
async function forwardToNodes(folder, ociHost, stops) {
  const [host = '', port = ''] = ociHost.split(':')
  const socket = join(folder, 'registry.sock')
  const server = createServer((incoming) => {
    const outgoing = connect(Number(port), host)
    incoming.pipe(outgoing).pipe(incoming)
    incoming.on('error', () => outgoing.destroy())
    outgoing.on('error', () => incoming.destroy())
  })
  server.listen(socket)
  await once(server, 'listening')
  stops.push(() => Promise.resolve(server.close()))
  const nodes = (await readdir(clusterFolder)).filter((name) => /^node-\d+$/.test(name))
  for (const node of nodes) {
    const pid = (await readFile(join(clusterFolder, node, 'pid'), 'utf8')).trim()
    const program = join(import.meta.dirname, 'forward-registry.mjs')
    const args = [`--net=/proc/${pid}/ns/net`, process.execPath, program, port, socket]
    const child = spawn('nsenter', args, { stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    stops.push(() => {
      child.stdin.end()
      return ended
    })
    const started = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)])
    if (started === undefined) throw new Error(`the registry cannot be forwarded to ${node}`)
  }
}

/**
 * @param {string} kubeconfig
 * @param {string} kubectl
 * @param {string} image
 */
async function createPods(kubeconfig, kubectl, image) {
  const names = ['client', 'server']
  const objects = names.flatMap((name) => [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: { selector: { app: name }, ports: [{ name: 'http', port: 8080, appProtocol: 'http' }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels: { app: name } },
      spec: {
        serviceAccountName: name,
        terminationGracePeriodSeconds: 5,
        containers: [{ name: 'app', image, args: ['serve', '8080=http'], ports: [{ containerPort: 8080 }] }],
      },
    },
  ])
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
  const { code, stderr } = await run(kubectl, ['apply', '-f', '-'], { input, env: { KUBECONFIG: kubeconfig } })
  if (code !== 0) throw new Error(`kubectl apply failed: ${stderr}`)
}

/**
 * @param {(program: string, ...args: string[]) => Promise<string>} call
 * @param {string} kubectl
 * @returns {Promise<number>} the status of the answer
 */
async function callServer(call, kubectl) {
  const program = ['/nodejs/bin/node', '/app/test-app.mjs', 'call', `http://server.${namespace}:8080/`]
  const deadline = performance.now() + answerMilliseconds
  for (;;) {
    const line = await call(kubectl, 'exec', 'client', '-n', namespace, '-c', 'app', '--', ...program).catch(String)
    const status = /^\{/.test(line) ? JSON.parse(line).status : undefined
    if (status === 200) return status
    if (performance.now() > deadline) throw new Error(`the client gets no answer: ${line}`)
    await sleep(1_000)
  }
}
