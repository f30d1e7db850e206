/**
 * The jobs of a hosted CI, made from the tiers, so that .ci/tiers.json stays the one list.
 *
 * @typedef {object} HostedSettings content of hosted.json
 * @property {readonly string[]} node versions that check and test run on
 * @property {string} defaultNode of every other job
 * @property {string} go
 * @property {{ readonly amd64: string, readonly arm64: string, readonly macos: string }} runners
 * @property {{ readonly version: string, readonly nodeImages: readonly string[] }} kind
 */
/**
 * @typedef {object} HostedJob
 * @property {string} name
 * @property {string} runner
 * @property {string} node
 * @property {string} command
 * @property {number} minutes
 * @property {string} [image] container of the job
 * @property {string} [options] of the cluster
 */
/** @typedef {{ readonly containers: readonly HostedJob[], readonly hosts: readonly HostedJob[], readonly clusters: readonly HostedJob[] }} HostedJobs */

/** Hosted runners start without caches and with another processor. */
const slowness = 3

/** Each job sets the checkout up by itself; kind needs no Kubernetes that is built here. */
const partsOfOthers = ['set-up', 'cluster-build']
/** Run on every version of Node and on both processors. */
const portable = ['check', 'test']

/**
 * Tiers run as root in a container of Debian, because set-up installs packages of Debian there. Unit tests and the demo run on the runner itself as well, and on
 * macOS. The tier `cluster` runs on kind, once for each version of Kubernetes.
 * @param {import('./tiers.mjs').TierPlan} plan
 * @param {HostedSettings} settings
 * @returns {HostedJobs}
 */
export function hostedJobs({ outside, tiers }, { node, defaultNode, runners, kind }) {
  const setUp = tiers.find(({ name }) => name === 'set-up')?.minutes ?? 0
  const minutesOf = (/** @type {import('./tiers.mjs').Tier} */ { minutes }) => Math.ceil(slowness * (setUp + minutes))
  const hosted = tiers.filter(
    ({ name, needs }) => !partsOfOthers.includes(name) && !needs.some((need) => outside[need]?.inNoRegistry === true),
  )
  const containers = hosted
    .filter(({ name }) => name !== 'cluster')
    .flatMap((tier) => {
      const job = (/** @type {'amd64' | 'arm64'} */ processor, /** @type {string} */ version) => ({
        name: `${tier.name} (${processor}, Node ${version})`,
        runner: runners[processor],
        node: version,
        image: `node:${version}-bookworm`,
        command: tier.command,
        minutes: minutesOf(tier),
      })
      if (!portable.includes(tier.name)) return [job('amd64', defaultNode)]
      return [...node.map((version) => job('amd64', version)), job('arm64', defaultNode)]
    })
  const onHost = [
    { name: 'unit', command: 'npm run --silent test -- unit', tier: 'test' },
    { name: 'demo', command: '', tier: 'demo' },
  ]
  const hosts = onHost.flatMap(({ name, command, tier: of }) =>
    hosted
      .filter((tier) => tier.name === of)
      .flatMap((tier) =>
        [runners.amd64, runners.macos].map((runner) => ({
          name: `${name} (${runner})`,
          runner,
          node: defaultNode,
          command: command === '' ? tier.command : command,
          minutes: minutesOf(tier),
        })),
      ),
  )
  const clusters = hosted
    .filter(({ name }) => name === 'cluster')
    .flatMap((tier) =>
      kind.nodeImages.map((image) => ({
        name: `cluster (${image.replace(/^.*:(v[\d.]+)@.*$/, 'Kubernetes $1')})`,
        runner: runners.amd64,
        node: defaultNode,
        command: tier.command,
        minutes: minutesOf(tier),
        options: `--provider kind --node-image ${image}`,
      })),
    )
  return { containers, hosts, clusters }
}
