import { parseArgs } from 'node:util'
import { SetUpError } from '../lib/set-up-error.mjs'

export const usage = `Usage: npm run cluster -- <command> [options]

A real Kubernetes cluster for tests and for trying things out.

Commands:
  up      make the cluster, or find it running
  load    assemble the images of the mesh and of the test application, and give them to the nodes
  status  say whether it works
  down    remove everything of it; also what an interrupted "up" has left

Options:
  --provider <name>    local: on this machine, without a container engine (the default)
                       kind: by the kind program and a container engine
                       existing: the cluster of a kubeconfig
  --name <name>        name of the cluster (osm)
  --nodes <number>     nodes that run pods (2)
  --ip-family <which>  for local: ipv4 (the default), or dual for addresses of IPv6 beside them
  --node-image <name>  for kind: the image of its nodes, which decides the version of Kubernetes
  --kubeconfig <path>  for existing: its kubeconfig (KUBECONFIG)
  --registry <name>    registry and path before the names of our images (localhost/osm-ts)
  --push-with <path>   for existing: a program that takes an archive and the image's name, and pushes it
  -o, --output json    print JSON
  -h, --help           print this
`

/** @typedef {'up' | 'load' | 'status' | 'down'} ClusterCommand */
/** @typedef {'local' | 'kind' | 'existing'} ProviderName */
/** @typedef {'ipv4' | 'dual'} IpFamily */
/**
 * @typedef {object} ClusterArguments
 * @property {ClusterCommand} command
 * @property {ProviderName} provider
 * @property {string} name
 * @property {number} nodes
 * @property {IpFamily} ipFamily
 * @property {string} registry
 * @property {'json' | 'text'} output
 * @property {string | undefined} nodeImage
 * @property {string | undefined} kubeconfig
 * @property {string | undefined} pushWith
 */

/** @type {readonly ClusterCommand[]} */
const commands = ['up', 'load', 'status', 'down']
/** @type {readonly ProviderName[]} */
const providers = ['local', 'kind', 'existing']
/** @type {readonly IpFamily[]} */
const ipFamilies = ['ipv4', 'dual']

/**
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {ClusterArguments | 'help'}
 */
export function readClusterArguments(args, env) {
  const { values, positionals } = parse(args)
  if (values.help) return 'help'
  const [word, ...more] = positionals
  const command = commands.find((name) => name === word)
  if (command === undefined || more.length > 0)
    throw new SetUpError(`expected one command of ${commands.join(', ')}, not "${positionals.join(' ')}"\n\n${usage}`)
  const provider = providers.find((name) => name === values.provider)
  if (provider === undefined)
    throw new SetUpError(`--provider ${values.provider}: expected one of ${providers.join(', ')}`)
  const nodes = Number(values.nodes)
  if (!Number.isInteger(nodes) || nodes < 1) throw new SetUpError(`--nodes ${values.nodes}: expected 1 or more`)
  const ipFamily = ipFamilies.find((name) => name === values['ip-family'])
  if (ipFamily === undefined)
    throw new SetUpError(`--ip-family ${values['ip-family']}: expected one of ${ipFamilies.join(', ')}`)
  if (provider !== 'local' && ipFamily !== 'ipv4')
    throw new SetUpError(`--ip-family is for provider local; the addresses of ${provider} are its own matter`)
  const { output } = values
  if (output !== 'json' && output !== 'text') throw new SetUpError(`-o ${output}: expected json or text`)
  if (provider !== 'existing' && values['push-with'] !== undefined)
    throw new SetUpError(`--push-with is for provider existing; nodes of ${provider} get the archives themselves`)
  if (provider !== 'kind' && values['node-image'] !== undefined)
    throw new SetUpError(`--node-image is for provider kind, not ${provider}`)
  return {
    command,
    provider,
    name: values.name,
    nodes,
    ipFamily,
    registry: values.registry,
    output,
    nodeImage: values['node-image'],
    kubeconfig: values.kubeconfig ?? env.KUBECONFIG,
    pushWith: values['push-with'],
  }
}

/** @param {readonly string[]} args */
function parse(args) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        provider: { type: 'string', default: 'local' },
        name: { type: 'string', default: 'osm' },
        nodes: { type: 'string', default: '2' },
        'ip-family': { type: 'string', default: 'ipv4' },
        'node-image': { type: 'string' },
        kubeconfig: { type: 'string' },
        registry: { type: 'string', default: 'localhost/osm-ts' },
        'push-with': { type: 'string' },
        output: { type: 'string', short: 'o', default: 'text' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new SetUpError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
  }
}
