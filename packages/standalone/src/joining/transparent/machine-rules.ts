import { existsSync } from 'node:fs'

import {
  type FamilyRules,
  type InterceptionOptions,
  interceptionRules,
  type IpFamily,
  renderRestore,
} from '@osm-ts/interception'

import { runTool } from '../../netns/run-tool.js'

const programs = { ipv4: 'iptables', ipv6: 'ip6tables' } as const

/**
 * Brings the rules into the kernel, in place of those of a run that was killed.
 *
 * @throws OsmError with code `OSM_NETNS_COMMAND`, or InterceptionError with every problem of the options
 */
export async function applyRules(options: InterceptionOptions, signal: AbortSignal): Promise<void> {
  const { ipv4, ipv6 } = interceptionRules(options)
  await restore(ipv4, signal)
  await restore(ipv6, signal)
}

/** Removes all rules of ours. It is not stopped half-way, and nothing happens where there are none. */
export async function removeRules(): Promise<void> {
  const { signal } = new AbortController()
  await restore({ family: 'ipv4', tables: [] }, signal)
  await restore({ family: 'ipv6', tables: [] }, signal)
}

async function restore(rules: FamilyRules, signal: AbortSignal): Promise<void> {
  if (!hasFamily(rules.family)) return
  const program = programs[rules.family]
  const input = renderRestore(rules, await runTool(`${program}-save`, [], { signal }))
  if (input !== '') await runTool(`${program}-restore`, ['--noflush', '--wait=10'], { input, signal })
}

/** A kernel without IPv6 has nothing to redirect there. */
function hasFamily(family: IpFamily): boolean {
  return family === 'ipv4' || existsSync('/proc/net/if_inet6')
}
