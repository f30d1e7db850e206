import type { ObjectKey } from '@osm-ts/core'
import type { WhatIfAnswer, WhatIfQuestion, WhyAnswer, WhyQuestion } from '@osm-ts/dashboard'

import { blastRadius } from '../diff/blast-radius.js'
import { cliError } from '../errors.js'
import { parseCallee, parseCaller, parseHeader, parseMethod, parsePath } from '../policy-question.js'
import { askPolicy } from '../spec/ask-policy.js'
import type { FolderAssumptions } from '../spec/load-folder.js'
import type { MeshModel } from '../spec/load-mesh-model.js'
import { parseObjectName, proposedText } from '../spec/proposed-change.js'
import { withShortPlaces } from '../spec/short-places.js'

/** Stands for the file of a change that was pasted. */
const PASTED = 'pasted.yaml'

/** How questions find the mesh. */
export interface AskedMesh {
  /** Reads the mesh again, with what is assumed of it. */
  readonly load: (assumptions: FolderAssumptions) => Promise<MeshModel>
  /** Files are named from here. */
  readonly cwd: string
}

/**
 * Answers as `osm policy can` does.
 *
 * @throws InvalidArgumentError or OsmError if the question has no answer
 */
export async function answerWhy(
  { load, cwd }: AskedMesh,
  { from, to, method, path, headers }: WhyQuestion,
): Promise<WhyAnswer> {
  const lines = headers.split('\n').filter((line) => line.trim() !== '')
  const asked = {
    from: parseCaller(from.trim()),
    to: parseCallee(to.trim()),
    request: {
      method: parseMethod(method.trim() || 'GET'),
      path: parsePath(path.trim() || '/'),
      headers: lines.reduce<Readonly<Record<string, string>>>((before, line) => parseHeader(line, before), {}),
    },
  }
  const answer = await askPolicy(await load({}), asked)
  if (typeof answer === 'string') throw cliError('OSM_CLI_USAGE', answer, 'change the question')
  return { allowed: answer.allowed, lines: answer.lines({ cwd, color: false }) }
}

/**
 * Compares the mesh with what a change would make of it, as `osm diff` does.
 *
 * @throws OsmError if the change names an object that the mesh does not have
 */
export async function answerWhatIf({ load, cwd }: AskedMesh, { yaml, remove }: WhatIfQuestion): Promise<WhatIfAnswer> {
  const before = await load({ running: true })
  const removed = remove.map((text) => removedObject(text.trim(), before))
  const after = await load({ running: true, change: proposedText(yaml, PASTED, removed) })
  const { access, routes, proxies, findings } = blastRadius(before, after)
  return {
    access,
    routes,
    proxies,
    findings: { new: withShortPlaces(findings.new, cwd), resolved: withShortPlaces(findings.resolved, cwd) },
  }
}

function removedObject(text: string, { snapshot }: Pick<MeshModel, 'snapshot'>): ObjectKey {
  const key = parseObjectName(text)
  if (key !== undefined && snapshot.getByKey(key) !== undefined) return key
  throw cliError(
    'OSM_CLI_NOT_FOUND',
    `the mesh has no object ${text}`,
    'write <kind>/<namespace>/<name>, such as TrafficTarget/bookstore/bookstore',
  )
}
