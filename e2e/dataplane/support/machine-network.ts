import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { namespaceNames, run } from './kernel.js'

/** A network namespace that stands for a machine: its own address, its own rules, and a cable to this one. */
export class MachineNetwork {
  readonly namespace: string
  /** Address of this end, where the mesh is. */
  readonly mesh: string
  /** Address of the machine. */
  readonly machine: string
  readonly #link: string

  /**
   * @param name - at most seven letters, unique among tests
   * @param subnet - number of the network, unique among tests
   */
  constructor(name: string, subnet: number) {
    this.namespace = `osmtest-${String(process.pid)}-${name}`
    this.mesh = `10.203.${subnet}.1`
    this.machine = `10.203.${subnet}.2`
    this.#link = `osmt-${name}`
  }

  /** Words before a program that runs on the machine. */
  get inside(): readonly ['netns', 'exec', string] {
    return ['netns', 'exec', this.namespace]
  }

  create(): void {
    const { namespace } = this
    run('ip', ['netns', 'add', namespace])
    run('ip', ['link', 'add', this.#link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace])
    run('ip', ['address', 'add', `${this.mesh}/24`, 'dev', this.#link])
    run('ip', ['link', 'set', this.#link, 'up'])
    run('ip', ['-n', namespace, 'link', 'set', 'lo', 'up'])
    run('ip', ['-n', namespace, 'address', 'add', `${this.machine}/24`, 'dev', 'eth0'])
    run('ip', ['-n', namespace, 'link', 'set', 'eth0', 'up'])
    run('ip', ['-n', namespace, 'route', 'add', 'default', 'via', this.mesh])
  }

  /** Gives the machine files of its own in place of those in /etc. Returns the path of one by its name. */
  etc(files: Readonly<Record<string, string>>): (name: string) => string {
    mkdirSync(this.#etc, { recursive: true })
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.#etc, name), text)
    return (name) => join(this.#etc, name)
  }

  remove(): void {
    if (namespaceNames().includes(this.namespace)) run('ip', ['netns', 'delete', this.namespace])
    rmSync(this.#etc, { recursive: true, force: true })
  }

  get #etc(): string {
    return join('/etc/netns', this.namespace)
  }
}
