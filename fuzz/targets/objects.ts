import { SnapshotBuilder } from '../../packages/core/src/snapshot/index.js'
import {
  allKinds,
  type Kind,
  kindDefinitions,
  type MeshObject,
  ObjectDecoder,
  PatternChecker,
  readObjects,
  SpecRules,
  writtenKind,
} from '../../packages/core/src/spec/index.js'
import { consentNeeded } from '../../packages/core/src/spec/reference-grant.js'
import { readDocuments } from '../../packages/core/src/spec/folder/read-documents.js'
import { splitDocuments } from '../../packages/core/src/spec/folder/split-documents.js'
import { type FuzzTarget, invariant, isRecord, jsonOf, textOf } from '../fuzz-target.js'

const origin = { kind: 'api', resourceVersion: '1' } as const
const context = { origin, defaultNamespace: 'shop', locate: () => origin, sourceText: () => undefined }
const rules = new SpecRules({
  trustDomain: 'cluster.local',
  clusterDomain: 'cluster.local',
  osmNamespace: 'osm-system',
  crossNamespace: () => consentNeeded,
  gatewayNames: () => [],
})
/** Text in Secrets of the corpus. */
const SECRET = 'c2VjcmV0LXdvcmQ'

/** `TrafficTarget` is fuzzed by `object-traffic-target`. */
function targetName(kind: Kind): string {
  return `object-${kind.replaceAll(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, '-').toLowerCase()}`
}

function objectTarget(kind: Kind, decoders: Readonly<Record<'user' | 'runtime', ObjectDecoder>>): FuzzTarget {
  const definition = kindDefinitions[kind]
  const decoder = decoders[definition.writtenBy]
  return {
    name: targetName(kind),
    about: `Objects of kind ${kind} as the API server or a folder gives them: decoded, converted and checked. A refused object has a problem that names it and a field; an accepted one decodes to itself.`,
    form: 'json',
    words: [
      definition.apiVersion,
      ...definition.alsoAccepted,
      'ServiceAccount',
      'IPRange',
      'Service',
      '*',
      'http',
      'tcp',
      '1s',
      '10.0.0.0/8',
      '(?i)a',
      'shop',
    ],
    budgetMs: 200,
    run: (input) => {
      const written = jsonOf(input)
      const decoded = decoder.decode(isRecord(written) ? { ...written, kind: writtenKind(kind) } : written, context)
      for (const { message, code } of decoded.problems)
        invariant(message.length > 0 && code.startsWith('OSM_'), 'a problem without words')
      if (decoded.object === undefined)
        invariant(
          decoded.problems.some(({ severity }) => severity === 'error'),
          'an object is refused without a problem',
        )
      else checkAccepted(decoded.object, decoder)
      return decoded
    },
  }
}

function checkAccepted(object: MeshObject, decoder: ObjectDecoder): void {
  const { origin: _origin, ...written } = object
  const again = decoder.decode(JSON.parse(JSON.stringify({ ...written, kind: writtenKind(object.kind) })), context)
  invariant(
    again.object !== undefined,
    `an accepted object is refused when it is read again: ${again.problems[0]?.message ?? ''}`,
  )
  invariant(
    JSON.stringify(again.object.spec) === JSON.stringify(object.spec),
    'an accepted object reads as another one',
  )
  const builder = new SnapshotBuilder(['api'])
  builder.apply([{ source: 'api', upserts: [object], deletes: [] }])
  for (const { problem } of rules.review(object, builder.snapshot))
    invariant(problem.message.length > 0, 'a problem without words')
}

/** Every kind that the mesh reads, and texts that hold objects. */
export function objectTargets(): readonly FuzzTarget[] {
  const patterns = new PatternChecker()
  const decoders = { user: new ObjectDecoder('user', patterns), runtime: new ObjectDecoder('runtime', patterns) }
  return [
    ...allKinds().map((kind) => objectTarget(kind, decoders)),
    {
      name: 'yaml-documents',
      about:
        'Files of a YAML folder, Secrets included: aliases stay bounded, a broken document leaves the others alone, and nothing of a Secret is repeated.',
      form: 'text',
      words: [
        '\n---\n',
        '\n...\n',
        '&a ',
        '*a',
        '<<: *a',
        '!!binary ',
        '|2-\n',
        '%YAML 1.2\n',
        '? ',
        '- ',
        '"',
        "'",
        '\t',
        'kind: Secret',
        '!!js/function ',
      ],
      budgetMs: 300,
      secret: SECRET,
      run: (input) => {
        const text = textOf(input)
        const documents = splitDocuments(text)
        invariant(
          documents.every((document) => text.includes(document.text)),
          'a document that is not in its text',
        )
        const read = readObjects(text, { decoder: decoders.user })
        const definitions = readDocuments(text, decoders.user, { file: 'mesh.yaml', defaultNamespace: 'shop' })
        return {
          read,
          secrets: definitions.flatMap(({ secret }) =>
            secret === undefined ? [] : [secret.key, secret.reading.usable],
          ),
        }
      },
    },
  ]
}
