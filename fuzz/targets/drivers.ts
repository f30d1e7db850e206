import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { checkSidecarPatch } from '../../packages/driver-api/src/check-sidecar-patch.js'
import { canonicalJson } from '../../packages/driver-api/src/policy/canonical.js'
import type { Part } from '../../packages/driver-api/src/policy/parts.js'
import { validatePart } from '../../packages/driver-api/src/policy/validate.js'
import type { SidecarPatch } from '../../packages/driver-api/src/sidecar-patch.js'
import {
  validateApplyReport,
  validateHealthProbes,
  validateProxyObservation,
  validateSidecarPatch,
} from '../../packages/driver-api/src/validate-driver-data.js'
import { parseDocument, readDeclaration } from '../../packages/driver-process/src/host/declaration.js'
import { readDriverList } from '../../packages/driver-process/src/load/driver-list.js'
import { readPackageManifest } from '../../packages/driver-process/src/load/package-manifest.js'
import { fromServiceError } from '../../packages/driver-process/src/wire/failure.js'
import type { MessageType } from '../../packages/driver-process/src/wire/message.js'
import { messages } from '../../packages/driver-process/src/wire/messages.js'
import type { Message } from '../../packages/driver-process/src/wire/services.js'
import { isLogEntry, isMeasurement, isMetricDeclaration } from '../../packages/driver-process/src/wire/telemetry.js'
import {
  asyncOutcomeOf,
  type FuzzTarget,
  hasCode,
  invariant,
  isRecord,
  jsonOf,
  outcomeOf,
  textOf,
} from '../fuzz-target.js'

const isDriverError = hasCode('OSM_DRIVER_')
const isWireError = (error: unknown): boolean => error instanceof Error && !(error instanceof TypeError)

/** Runs a reader of files on a file with that content. */
async function withFile<T>(
  name: string,
  content: Uint8Array,
  read: (file: string, folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'osm-fuzz-'))
  try {
    const file = join(folder, name)
    writeFileSync(file, content)
    return await read(file, folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** What drivers in processes of their own, and their packages, say. */
export const driverTargets: readonly FuzzTarget[] = [
  {
    name: 'driver-message',
    about:
      'Bytes of every message of osm.driver.v1: decoded within their length, and what is encoded again decodes to the same.',
    form: 'bytes',
    words: ['{"json":1}', '\n\u0002', '\u0012'],
    run: (input) =>
      Object.values<MessageType>(messages).map((type) =>
        outcomeOf(() => {
          const message = type.decode(input)
          const again = type.decode(type.encode(message as Record<string, never>))
          invariant(
            JSON.stringify(again) === JSON.stringify(message),
            `${type.name} is another message when it is encoded again`,
          )
          return message
        }, isWireError),
      ),
  },
  {
    name: 'driver-telemetry',
    about: 'Metrics and log lines of a driver: told apart without a conversion that the driver can make throw.',
    form: 'json',
    words: ['counter', 'histogram', 'kind', 'name', 'labels', 'level', 'info', 'fields'],
    run: (input) => {
      const value = jsonOf(input)
      return [isMetricDeclaration(value), isMeasurement(value), isLogEntry(value)]
    },
  },
  {
    name: 'driver-failure',
    about:
      'Failures that a driver tells: shortened, with a code of the usual form, or taken for a fault of the driver.',
    form: 'bytes',
    words: ['OSM_DRIVER_PATCH_REFUSED', '{"reasons":["a"]}'],
    run: (input) => {
      const metadata = { get: () => [Buffer.from(input)] }
      const error = fromServiceError({ code: 2, details: 'failed', metadata }, 'driver x')
      invariant(
        /^OSM_[A-Z0-9_]+$/.test(error.code) && error.message.length <= 4200,
        'a failure without a code, or a long one',
      )
      return { code: error.code, message: error.message, details: error.details }
    },
  },
  {
    name: 'driver-declaration',
    about: 'What a driver says of itself: refused with a code, a reason for each fault, or a whole declaration.',
    form: 'json',
    words: [
      'envoy',
      'contract',
      'capabilities',
      'configSchema',
      'oldestProxyVersion',
      'object',
      'additionalProperties',
      'http',
    ],
    budgetMs: 300,
    run: (input) => {
      const document = jsonOf(input)
      if (!isRecord(document)) return undefined
      const { name, contract, capabilities, configSchema, oldestProxyVersion } = document
      return outcomeOf(
        () =>
          readDeclaration(
            {
              name: typeof name === 'string' ? name : '',
              contract: { min: 1, max: typeof contract === 'number' ? contract >>> 0 : 1 },
              // Whatever it is: what a message may not hold, the check must refuse all the same.
              capabilities: capabilities as Message<'capabilities'>,
              configSchema: JSON.stringify(configSchema ?? null),
              version: '1',
              oldestProxyVersion: typeof oldestProxyVersion === 'string' ? oldestProxyVersion : '',
            },
            '',
          ),
        isDriverError,
      )
    },
  },
  {
    name: 'driver-document',
    about: 'Documents of a driver: what the schema accepts passes every later check without an undocumented error.',
    form: 'json',
    words: ['session', 'revision', 'parts', 'conditions', 'refused', 'startup', 'liveness'],
    run: (input) => {
      const read = outcomeOf(() => parseDocument(textOf(input)), hasCode('OSM_DRIVER_PROTOCOL'))
      if (!isRecord(read) || !('value' in read)) return read
      return [validateApplyReport(read.value), validateProxyObservation(read.value), validateHealthProbes(read.value)]
    },
  },
  {
    name: 'sidecar-patch',
    about:
      'Patches of loaded drivers: one that passes runs no root, refers to its own files only and stays below its own names.',
    form: 'json',
    words: [
      'sidecar',
      'files',
      'volumes',
      'initContainers',
      'annotations',
      'runAsUser',
      'custom-x',
      '/etc',
      '../',
      'file',
      'ref',
    ],
    run: (input) => {
      const patch = jsonOf(input)
      const issues = validateSidecarPatch(patch)
      if (issues.length > 0) return issues
      const checked = patch as SidecarPatch
      const outcome = outcomeOf(() => checkSidecarPatch(checked, 'custom'), hasCode('OSM_DRIVER_PATCH_REFUSED'))
      if (!isRecord(outcome) || !('error' in outcome)) {
        invariant(checked.sidecar.security.runAsUser !== 0, 'a sidecar of root')
        invariant(
          checked.volumes.every(({ name, mountPath }) => name.startsWith('custom-') && !mountPath.includes('..')),
          'a volume of somebody else',
        )
        invariant(
          checked.files.every(({ path }) => !path.includes('/')),
          'a file in another folder',
        )
      }
      return outcome
    },
  },
  {
    name: 'policy-part',
    about:
      'Parts of policy documents, as a driver in another process gets them: validated without a throw, canonical text is stable.',
    form: 'json',
    words: ['kind', 'upstream', 'inbound', 'outbound', 'routes', 'trust', 'set', 'members', 'hash'],
    run: (input) => {
      const value = jsonOf(input)
      const issues = validatePart(value)
      if (issues.length === 0) {
        const text = canonicalJson(value)
        invariant(canonicalJson(JSON.parse(text) as Part) === text, 'canonical text that is not canonical')
      }
      return issues
    },
  },
  {
    name: 'driver-list',
    about: 'Lists of driver packages: an error names the file, the entry and the member.',
    form: 'json',
    words: [
      'drivers',
      'name',
      'path',
      'socket',
      'integrity',
      'heapMb',
      'residentMb',
      'failurePolicy',
      'Ignore',
      '/opt/driver',
    ],
    run: (input) =>
      asyncOutcomeOf(() => withFile('drivers.json', input, readDriverList), hasCode('OSM_DRIVER_LIST')).then(
        withoutFolder,
      ),
  },
  {
    name: 'package-manifest',
    about: 'package.json of driver packages: an entry by exports, or an error that names the member.',
    form: 'json',
    words: ['exports', 'import', 'default', 'node', '.', 'osmDriver', 'command', 'standIn', 'main', './index.js'],
    run: (input) =>
      asyncOutcomeOf(
        () => withFile('package.json', input, (_file, folder) => readPackageManifest(folder)),
        hasCode('OSM_DRIVER_LOAD'),
      ).then(withoutFolder),
  },
]

/** Each run has its own folder, whose name is in messages. */
function withoutFolder(outcome: unknown): unknown {
  return JSON.parse(JSON.stringify(outcome).replaceAll(/osm-fuzz-\w+/g, 'osm-fuzz')) as unknown
}
