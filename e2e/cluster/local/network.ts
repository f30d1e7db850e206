import { runCommand } from '../run-command.js'
import { linkPrefix, type AddressPlan, type NodePlan } from './address-plan.js'

/** Processes whose network namespaces are those of the machines. */
export interface MachinePids {
  readonly controlPlane: number
  /** By name of the node. */
  readonly nodes: ReadonlyMap<string, number>
}

/** How commands are run. */
interface NetworkOptions {
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Joins the machines: this one and every node have a link to the control plane, which is the router between them. */
export async function connectMachines(
  plan: AddressPlan,
  hostLink: string,
  pids: MachinePids,
  options: NetworkOptions,
): Promise<void> {
  await link(undefined, { name: hostLink, to: pids.controlPlane }, options)
  for (const node of plan.nodes) await link(pids.controlPlane, { name: node.name, to: pidOf(pids, node) }, options)
  const [first] = plan.nodes
  if (first === undefined) throw new Error('a cluster without a node has no way to its services')
  await route({ family: 'ipv4', plan, first, nodes: plan.nodes }, hostLink, pids, options)
  if (plan.ipv6 === undefined || first.ipv6 === undefined) return
  const nodes = plan.nodes.flatMap(({ name, ipv6 }) => (ipv6 === undefined ? [] : [{ name, ...ipv6 }]))
  await route({ family: 'ipv6', plan: plan.ipv6, first: first.ipv6, nodes }, hostLink, pids, options)
}

function pidOf(pids: MachinePids, { name }: { readonly name: string }): number {
  const pid = pids.nodes.get(name)
  if (pid === undefined) throw new Error(`machine ${name} has not been started`)
  return pid
}

/** Makes a pair of interfaces, one of which is `eth0` of another machine. */
async function link(
  from: number | undefined,
  { name, to }: { readonly name: string; readonly to: number },
  options: NetworkOptions,
): Promise<void> {
  await ip('ipv4', from, [`link add ${name} type veth peer name eth0 netns ${to}`, `link set ${name} up`], options)
  await ip('ipv4', to, ['link set eth0 up'], options)
}

/** Addresses of one family. */
interface FamilyPlan {
  readonly family: keyof typeof linkPrefix
  readonly plan: Pick<AddressPlan, 'range' | 'controlPlane' | 'host' | 'services'>
  readonly first: Pick<NodePlan, 'address'>
  readonly nodes: readonly Pick<NodePlan, 'name' | 'address' | 'gateway' | 'pods'>[]
}

async function route(
  { family, plan, first, nodes }: FamilyPlan,
  hostLink: string,
  pids: MachinePids,
  options: NetworkOptions,
): Promise<void> {
  // No one else is on these links: an IPv6 address need not wait for an objection.
  const ofLink = (address: string): string => `${address}/${linkPrefix[family]}${family === 'ipv6' ? ' nodad' : ''}`
  const onControlPlane = (lines: readonly string[]): Promise<void> => ip(family, pids.controlPlane, lines, options)
  await ip(family, undefined, [`address add ${ofLink(plan.host)} dev ${hostLink}`], options)
  await onControlPlane([`address add ${ofLink(plan.controlPlane)} dev eth0`])
  for (const node of nodes) {
    await onControlPlane([`address add ${ofLink(node.gateway)} dev ${node.name}`])
    const lines = [
      `address add ${ofLink(node.address)} dev eth0`,
      `route add ${plan.range} via ${node.gateway} src ${node.address}`,
      // A pod that is no more, or not yet: its packets end here, and do not go round between the node and the router.
      `route add unreachable ${node.pods}`,
    ]
    await ip(family, pidOf(pids, node), lines, options)
    await onControlPlane([
      `route add ${node.pods} via ${node.address}`,
      // A node has translated every address of a service that means anything; what is left of them must not go round either.
      `rule add iif ${node.name} to ${plan.services} unreachable`,
    ])
  }
  await onControlPlane([
    // The control plane has no kube-proxy: calls of webhooks go through that of the first node.
    `route add ${plan.services} via ${first.address} src ${plan.controlPlane}`,
    `route add unreachable ${plan.range}`,
  ])
  await ip(family, undefined, [`route add ${plan.range} via ${plan.controlPlane} src ${plan.host}`], options)
}

/** Runs commands of `ip` in the network namespace of a process; in that of this machine without one. */
async function ip(
  family: keyof typeof linkPrefix,
  pid: number | undefined,
  lines: readonly string[],
  options: NetworkOptions,
): Promise<void> {
  const batch = { input: `${lines.join('\n')}\n`, ...options }
  const program = ['ip', family === 'ipv6' ? '-6' : '-4', '-batch', '-'] as const
  const [file, ...args] = pid === undefined ? program : (['nsenter', `--net=/proc/${pid}/ns/net`, ...program] as const)
  await runCommand(file, args, batch)
}

/** What this machine has routes to. */
export async function routedDestinations(signal: AbortSignal): Promise<readonly string[]> {
  const output = await runCommand('ip', ['-j', '-4', 'route', 'show', 'table', 'all'], { signal })
  const routes = JSON.parse(output === '' ? '[]' : output) as readonly { readonly dst?: string }[]
  return routes.flatMap(({ dst }) => (dst === undefined ? [] : [dst]))
}
