import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../tools/lib/paths.mjs'
import { run } from '../../../tools/lib/process.mjs'

/**
 * What a run tests, and with what: versions, and the digests of the images.
 * @param {object} parts
 * @param {{ readonly provider: string, readonly kubeconfig: string }} parts.cluster
 * @param {readonly { readonly name: string, readonly digest: string }[]} parts.images
 * @param {string} parts.kubectl
 * @param {string} parts.helm
 */
export async function describeSubject({ cluster: { provider, kubeconfig }, images, kubectl, helm }) {
  const env = { KUBECONFIG: kubeconfig }
  const [commit, envoy, helmVersion, versions, { items }] = await Promise.all([
    said('git', ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*']),
    said(process.env.ENVOY_BIN ?? '', ['--version']),
    said(helm, ['version', '--short']),
    said(kubectl, ['version', '-o', 'json'], env).then(JSON.parse),
    said(kubectl, ['get', 'nodes', '-o', 'json'], env).then(JSON.parse),
  ])
  return {
    commit,
    chart: /^version: (.+)$/m.exec(readFileSync(join(root, 'charts/osm/Chart.yaml'), 'utf8'))?.[1],
    images: Object.fromEntries(images.map(({ name, digest }) => [name, digest])),
    envoy: envoy.replace(/^.*version: */, ''),
    cluster: {
      provider,
      kubernetes: versions.serverVersion.gitVersion,
      nodes: Object.fromEntries(items.map(nodeEntry)),
    },
    tools: { kubectl: versions.clientVersion.gitVersion, helm: helmVersion, node: process.version },
  }
}

/**
 * @param {{ metadata: { name: string }, status: { nodeInfo: Readonly<Record<string, string>> } }} node
 */
function nodeEntry({ metadata, status: { nodeInfo } }) {
  const { kubeletVersion, containerRuntimeVersion, kernelVersion, osImage, architecture } = nodeInfo
  return [metadata.name, { kubeletVersion, containerRuntimeVersion, kernelVersion, osImage, architecture }]
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
async function said(program, args, env = {}) {
  const { code, stdout, stderr } = await run(program, args, { env })
  if (code !== 0) throw new Error(`"${[program, ...args].join(' ')}" failed with ${code}: ${stderr.trim()}`)
  return stdout.toString().trim()
}
