import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { AccessDecision } from '@osm-ts/core'
import { parseCallee, parseCaller, askPolicy, loadFolder, standaloneNaming } from '@osm-ts/cli/testing'

/** A request as the command line of `osm policy can` has it. */
export interface AskedRequest {
  readonly from: string
  readonly to: string
  readonly method?: string
  readonly target?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Names in the certificate of a caller outside the mesh. */
  readonly principals?: readonly string[]
  /** Server name that a caller outside requests over TLS. */
  readonly serverName?: string
}

/** What `osm policy can` says of a request. */
interface PolicyCan {
  readonly allowed: boolean
  /** All of it, as JSON. */
  readonly said: string
  /** Status that the sidecar of the caller answers by itself, to some of the requests at least. */
  readonly answered?: number | 'closed'
}

/** What `osm policy can` says of requests under these documents: the folder is read as the command reads it, once for all of them. */
export async function policyCan(documents: readonly string[]): Promise<(asked: AskedRequest) => Promise<PolicyCan>> {
  const folder = await mkdtemp(join(tmpdir(), 'policy-can-'))
  try {
    await writeFile(join(folder, 'mesh.yaml'), documents.join('\n---\n'))
    const loaded = await loadFolder(folder, standaloneNaming, new AbortController().signal)
    return async ({ from, to, method = 'GET', target = '/', headers = {}, principals, serverName }) => {
      const request = { method, path: target, headers }
      const question = { from: parseCaller(from), to: parseCallee(to), request, principals, serverName }
      const answer = await askPolicy(loaded, question)
      if (typeof answer === 'string') throw new Error(answer)
      // What is printed of a call inside the mesh is a decision.
      const { status } = (answer.json as Partial<AccessDecision>).answer ?? {}
      const said = JSON.stringify(answer.json)
      return { allowed: answer.allowed, said, ...(status === undefined ? {} : { answered: status }) }
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
