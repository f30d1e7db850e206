import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { kindDefinitions, type WorkloadInstanceSpec } from '@osm-ts/core'

import { writeFileAtomic } from '../state/write-file.js'

/** The name of a host under a headless service can't be longer. */
const MAX_HOSTNAME = 63

/** What is written down about an instance. */
export interface InstanceRecord {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: WorkloadInstanceSpec
}

/** The name of an instance under a headless service, if it can have one. */
export function instanceHostname(name: string): { readonly hostname?: string } {
  return name.length <= MAX_HOSTNAME ? { hostname: name } : {}
}

/** The WorkloadInstance of one instance, as a file that the controller reads. */
export class InstanceFile {
  readonly #path: string
  #written = ''

  constructor(folder: string, namespace: string, name: string) {
    // A namespace has no dots, so that no two instances share a file.
    this.#path = join(folder, `${namespace}.${name}.json`)
  }

  /** Writes the differences from the present content. */
  write({ namespace, name, labels, annotations, spec }: InstanceRecord): void {
    const { apiVersion } = kindDefinitions.WorkloadInstance
    const metadata = { namespace, name, labels, annotations }
    const text = `${JSON.stringify({ apiVersion, kind: 'WorkloadInstance', metadata, spec })}\n`
    if (text === this.#written) return
    writeFileAtomic(this.#path, text)
    this.#written = text
  }

  remove(): void {
    rmSync(this.#path, { force: true })
    this.#written = ''
  }
}
