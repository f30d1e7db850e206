import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { parseKubernetesObjects } from '../../packages/cli/src/inject/read-objects.js'
import { AddressAllocator } from '../../packages/standalone/src/addresses/address-allocator.js'
import {
  parseControllerInput,
  parseControllerReady,
  readControllerConfig,
} from '../../packages/standalone/src/controller/controller-config.js'
import { PortAllocator } from '../../packages/standalone/src/ports/port-allocator.js'
import { findLeftovers } from '../../packages/standalone/src/process/process-registry.js'
import { parseReportedRequest } from '../../packages/standalone/src/workload/reported-request.js'
import { asyncOutcomeOf, type FuzzTarget, hasCode, invariant, isRecord, outcomeOf, textOf } from '../fuzz-target.js'

const isStateError = hasCode('OSM_STANDALONE_')

function withFile<T>(content: Uint8Array, use: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'osm-fuzz-'))
  try {
    const file = join(folder, 'state.json')
    writeFileSync(file, content)
    return use(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function withFileAsync<T>(content: Uint8Array, use: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'osm-fuzz-'))
  try {
    const file = join(folder, 'state.json')
    writeFileSync(file, content)
    return await use(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Each run has its own folder, whose name is in messages. */
function withoutFolder(outcome: unknown): unknown {
  return JSON.parse(JSON.stringify(outcome).replaceAll(/osm-fuzz-\w+/g, 'osm-fuzz')) as unknown
}

/** State files and lines of local processes, and files that commands read. */
export const standaloneTargets: readonly FuzzTarget[] = [
  {
    name: 'state-processes',
    about: 'The file of processes of a former run: whatever it says, no process is ended that is not of that very run.',
    form: 'json',
    words: ['bootId', 'processes', 'pid', 'started', 'boot-1'],
    run: (input) => {
      const table = {
        bootId: () => 'boot-1',
        find: () => undefined,
        list: () => [
          { pid: 1, session: 1, started: 1 },
          { pid: 77, session: 77, started: 500 },
        ],
        variable: () => '/state',
      } as unknown as Parameters<typeof findLeftovers>[2]
      return withoutFolder(
        outcomeOf(() => {
          const leftovers = withFile(input, (file) => findLeftovers(file, '/state', table))
          invariant(
            leftovers.every((pid) => pid === 1 || pid === 77),
            'a process that is not there',
          )
          return leftovers
        }, isStateError),
      )
    },
  },
  {
    name: 'state-ports',
    about:
      'The file of ports: an unusable one is refused with its path, and a usable one never gives a port outside of the range.',
    form: 'json',
    words: ['default/books', 'inbound', '20000', '20009'],
    run: (input) =>
      asyncOutcomeOf(
        () =>
          withFileAsync(input, async (file) => {
            const allocator = new PortAllocator({
              file,
              range: { first: 20_000, last: 20_009 },
              isFree: () => Promise.resolve(true),
              seed: 'seed',
            })
            const ports = await allocator.claim('default/books', ['inbound', 'outbound'])
            for (const port of ports.values())
              invariant(port >= 20_000 && port <= 20_009, 'a port outside of the range')
            invariant(new Set(ports.values()).size === ports.size, 'one port for two purposes')
            return [...ports]
          }),
        isStateError,
      ).then(withoutFolder),
  },
  {
    name: 'state-addresses',
    about:
      'The file of virtual addresses: an unusable one is refused, a usable one gives each Service an address of the range.',
    form: 'json',
    words: ['default/books', '1', '2', '-1'],
    run: (input) =>
      withoutFolder(
        outcomeOf(
          () =>
            withFile(input, (file) => {
              const allocator = new AddressAllocator(file, { network: 0x0a00_0000, prefix: 29 })
              const service = { metadata: { namespace: 'default', name: 'books' }, spec: {} } as unknown as Parameters<
                AddressAllocator['assign']
              >[0][number]
              const problems = allocator.assign([service])
              const addresses = allocator.current()
              for (const address of Object.values(addresses))
                invariant(/^10\.0\.0\.[1-6]$/.test(address), `address ${address} is outside of the range`)
              return { problems, addresses }
            }),
          isStateError,
        ),
      ),
  },
  {
    name: 'controller-messages',
    about:
      'Lines between the supervisor and its controller, its configuration, and lines of workloads: read or left alone.',
    form: 'json',
    words: [
      'ready',
      'debugUrl',
      'virtualAddresses',
      'proxyServer',
      'serverNames',
      'ports',
      'driverPackages',
      'target',
      'status',
      'ms',
    ],
    run: (input) => {
      const line = textOf(input)
      return [
        parseControllerReady(line) !== undefined,
        parseControllerInput(line) !== undefined,
        parseReportedRequest(line, { name: 'books-1', namespace: 'shop' }),
        withoutFolder(outcomeOf(() => isRecord(withFile(input, readControllerConfig)), isStateError)),
      ]
    },
  },
  {
    name: 'inject-file',
    about:
      'Files for `osm inject`: every object has a kind, aliases stay bounded, and an error says which input it is about.',
    form: 'text',
    words: ['\n---\n', 'kind: List\nitems:\n- ', '&a ', '*a', '<<: *a', '!!binary ', '{', '[', '? '],
    budgetMs: 300,
    run: (input) =>
      outcomeOf(() => {
        const objects = parseKubernetesObjects(textOf(input), 'pods.yaml')
        for (const { kind } of objects) invariant(typeof kind === 'string', 'an object without a kind')
        return objects.map(({ kind }) => kind)
      }, hasCode('OSM_CLI_INPUT')),
  },
]
