import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { authorityOf, type TestAuthority } from '../../test-certificates.js'

/** The authority of workloads of a mesh of this machine, whose key lies in its state folder: for what no one but the mesh should be able to do. */
export function workloadAuthority(stateFolder: string): TestAuthority {
  const folder = join(stateFolder, 'ca/workload')
  return authorityOf(readFileSync(join(folder, 'ca.crt'), 'utf8'), readFileSync(join(folder, 'ca.key'), 'utf8'))
}
