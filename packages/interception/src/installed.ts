import { ownChainPrefix, type RuleTable } from './rule.js'

/** What of ours one kernel table already holds. */
export interface InstalledTable {
  readonly name: RuleTable['name']
  readonly chains: readonly string[]
  /** Rules of the kernel's chains that jump into ours, each as the kernel lists it, without the leading `-A`. */
  readonly hooks: readonly string[]
}

/** Finds our chains and the jumps into them in the output of `iptables-save` or `ip6tables-save`. */
export function parseInstalled(saved: string): readonly InstalledTable[] {
  const tables: { name: string; chains: string[]; hooks: string[] }[] = []
  for (const line of saved.split('\n')) {
    const table = tables.at(-1)
    if (line.startsWith('*')) tables.push({ name: line.slice(1).trim(), chains: [], hooks: [] })
    else if (table !== undefined && line.startsWith(`:${ownChainPrefix}`))
      table.chains.push(line.slice(1).split(' ')[0] ?? '')
    else if (table !== undefined && isHook(line)) table.hooks.push(line.slice('-A '.length))
  }
  return tables.filter(isOursToHold).filter((table) => table.chains.length > 0)
}

function isHook(line: string): boolean {
  const words = line.split(' ')
  const target = words[words.lastIndexOf('-j') + 1] ?? ''
  return (
    words[0] === '-A' && !(words[1] ?? ownChainPrefix).startsWith(ownChainPrefix) && target.startsWith(ownChainPrefix)
  )
}

function isOursToHold(table: {
  name: string
  chains: string[]
  hooks: string[]
}): table is InstalledTable & typeof table {
  return table.name === 'nat' || table.name === 'filter'
}
