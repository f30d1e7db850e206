import { mkdir, mkdtemp, rename, rm, symlink, truncate, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'

import { formatProblem } from '../problem.js'
import type { SourceChange } from './object-source.js'
import { makeObjectKey, objectKey, type MeshObject } from './objects.js'
import { YamlFolderSource, type YamlFolderOptions } from './yaml-folder.js'

// Conditions are met within milliseconds; the limits are for machines that are busy with something else.

let folder: string
let stop: AbortController
let running: YamlFolderSource[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'yaml-folder-'))
  stop = new AbortController()
  running = []
})

afterEach(async () => {
  stop.abort()
  await Promise.all(running.map((source) => source.finished()))
  await rm(folder, { recursive: true, force: true })
})

/** For tests that a file stays doubtful as long as they look, however slow the machine. */
const slowPolls = { pollMs: 60_000, graceMs: 60_000 }

/** Starts a source over the folder and records what it says. Polling is slow so that it can't hide lost events. */
async function run(
  options: Partial<YamlFolderOptions> = {},
): Promise<{ source: YamlFolderSource; changes: SourceChange[] }> {
  const faults: unknown[] = []
  const source = new YamlFolderSource({
    folder,
    times: { pollMs: 60_000 },
    onFault: (error) => faults.push(error),
    ...options,
  })
  running.push(source)
  await source.start(stop.signal)
  const changes: SourceChange[] = []
  source.subscribe((change) => changes.push(change))
  return { source, changes }
}

/** Waits until the condition holds; fails with what it last saw. */
async function eventually(check: () => void): Promise<void> {
  const deadline = Date.now() + 120_000
  for (;;) {
    try {
      check()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

function account(name: string, label = ''): string {
  return `apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: ${name}\n  labels: {v: "${label}"}\n`
}

function split(name: string, weight: string): string {
  return [
    'apiVersion: split.smi-spec.io/v1alpha4',
    'kind: TrafficSplit',
    `metadata: {name: ${name}}`,
    'spec:',
    '  service: web',
    '  backends:',
    `  - {service: a, weight: ${weight}}`,
    '',
  ].join('\n')
}

function names(objects: readonly MeshObject[]): readonly string[] {
  return objects.map(objectKey).sort()
}

describe('YamlFolderSource', () => {
  it('reads all YAML and JSON files below the folder, and nothing hidden', async () => {
    await mkdir(join(folder, 'sub', 'deep'), { recursive: true })
    await mkdir(join(folder, '.git'))
    await writeFile(join(folder, 'a.yaml'), `${account('one')}---\n${account('two')}`)
    await writeFile(join(folder, 'sub', 'deep', 'b.yml'), account('three'))
    await writeFile(
      join(folder, 'sub', 'c.json'),
      JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'four', namespace: 'other' } }),
    )
    await writeFile(join(folder, '.git', 'd.yaml'), account('hidden'))
    await writeFile(join(folder, '.e.yaml'), account('hidden'))
    await writeFile(join(folder, 'f.txt'), account('text'))
    const { source } = await run()
    expect(names(source.objects())).toEqual([
      'ServiceAccount/default/one',
      'ServiceAccount/default/three',
      'ServiceAccount/default/two',
      'ServiceAccount/other/four',
    ])
    expect(source.problems()).toEqual([])
  })

  it('reports creations, changes and deletions, each as one complete change', async () => {
    await writeFile(join(folder, 'a.yaml'), `${account('one')}---\n${account('two')}`)
    const { source, changes } = await run()
    await writeFile(join(folder, 'a.yaml'), `${account('two', 'new')}---\n${account('three')}`)
    await eventually(() => {
      expect(changes).toHaveLength(1)
    })
    expect(names(changes[0]?.upserts ?? [])).toEqual(['ServiceAccount/default/three', 'ServiceAccount/default/two'])
    expect(changes[0]?.deletes).toEqual(['ServiceAccount/default/one'])
    await unlink(join(folder, 'a.yaml'))
    await eventually(() => {
      expect(source.objects()).toEqual([])
    })
    expect(changes).toHaveLength(2)
  })

  it('says nothing when only lines, comments or the order of members change, but locates by the new lines', async () => {
    await writeFile(join(folder, 'a.yaml'), split('s', '5'))
    const { source, changes } = await run()
    const [before] = source.objects()
    const key = makeObjectKey('TrafficSplit', 'default', 's')
    expect(source.locate(key, 'spec.backends[0].weight')).toMatchObject({ line: 7 })
    await writeFile(join(folder, 'a.yaml'), `# a comment\n\n${split('s', '5')}`)
    await eventually(() => {
      expect(source.locate(key, 'spec.backends[0].weight')).toMatchObject({ line: 9, file: join(folder, 'a.yaml') })
    })
    expect(changes).toEqual([])
    expect(source.objects()[0]).toBe(before)
  })

  it('keeps the last good version of an object that no longer fits its schema', async () => {
    await writeFile(join(folder, 'a.yaml'), `${split('s', '5')}---\n${account('x')}`)
    const { source, changes } = await run()
    await writeFile(join(folder, 'a.yaml'), `${split('s', 'many')}---\n${account('x', 'new')}`)
    await eventually(() => {
      expect(changes).toHaveLength(1)
    })
    expect(names(changes[0]?.upserts ?? [])).toEqual(['ServiceAccount/default/x'])
    expect(source.objects().find(({ kind }) => kind === 'TrafficSplit')?.spec).toMatchObject({
      backends: [{ weight: 5 }],
    })
    expect(source.problems().map(formatProblem)).toEqual([
      `${join(folder, 'a.yaml')}:7:18: error: TrafficSplit default/s: spec.backends[0].weight: must be an integer, not "many"; ` +
        'the last good version stays in force [OSM_SPEC_SCHEMA]',
    ])
    await writeFile(join(folder, 'a.yaml'), `${split('s', '7')}---\n${account('x', 'new')}`)
    await eventually(() => {
      expect(source.problems()).toEqual([])
    })
    expect(source.objects().find(({ kind }) => kind === 'TrafficSplit')?.spec).toMatchObject({
      backends: [{ weight: 7 }],
    })
  })

  it('keeps what a file held when a document is not well-formed, and takes over the others', async () => {
    await writeFile(join(folder, 'a.yaml'), `${account('one')}---\n${account('two')}`)
    const { source, changes } = await run()
    await writeFile(
      join(folder, 'a.yaml'),
      `${account('one', 'new')}---\napiVersion: v1\nkind: "ServiceAcc\nmetadata: {name: two}\n`,
    )
    await eventually(() => {
      expect(changes).toHaveLength(1)
    })
    expect(names(source.objects())).toEqual(['ServiceAccount/default/one', 'ServiceAccount/default/two'])
    expect(source.problems()).toMatchObject([{ code: 'OSM_SPEC_SYNTAX', origin: { line: 8 } }])
    expect(source.problems()[0]?.message).toContain('what this file held before stays in force')
  })

  it('survives saves by renaming, as editors do', async () => {
    const path = join(folder, 'a.yaml')
    await writeFile(path, account('one'))
    const { source, changes } = await run({ times: slowPolls })
    for (const label of ['1', '2', '3']) {
      await rename(path, `${path}~`)
      await writeFile(join(folder, '4913'), account('one', label))
      await rename(join(folder, '4913'), path)
      await unlink(`${path}~`)
      await eventually(() => {
        expect(source.objects()[0]?.metadata.labels).toEqual({ v: label })
      })
    }
    expect(changes.flatMap((change) => change.deletes)).toEqual([])
  })

  it('never takes a file at the moment of being rewritten for an empty one', async () => {
    const path = join(folder, 'a.yaml')
    await writeFile(path, `${account('one')}---\n${account('two')}`)
    const { source, changes } = await run({ times: slowPolls })
    await truncate(path, 0)
    // Another file tells when the folder has been looked at.
    await writeFile(join(folder, 'b.yaml'), account('first'))
    await eventually(() => {
      expect(changes).toHaveLength(1)
    })
    await writeFile(path, account('one', 'half').slice(0, -2))
    await writeFile(join(folder, 'b.yaml'), account('second'))
    await eventually(() => {
      expect(changes).toHaveLength(2)
    })
    expect(changes).toMatchObject([
      { upserts: [{ metadata: { name: 'first' } }], deletes: [] },
      { upserts: [{ metadata: { name: 'second' } }], deletes: ['ServiceAccount/default/first'] },
    ])
    await writeFile(path, `${account('one', 'whole')}---\n${account('two')}`)
    await eventually(() => {
      expect(changes).toHaveLength(3)
    })
    expect(changes[2]).toMatchObject({ upserts: [{ metadata: { name: 'one', labels: { v: 'whole' } } }], deletes: [] })
    expect(names(source.objects())).toContain('ServiceAccount/default/two')
  })

  it('believes that a file is empty once it has been for a while', async () => {
    await writeFile(join(folder, 'a.yaml'), account('one'))
    const { source } = await run()
    await truncate(join(folder, 'a.yaml'), 0)
    await eventually(() => {
      expect(source.objects()).toEqual([])
    })
  })

  it('takes over an object that moves to another file without a deletion in between', async () => {
    await writeFile(join(folder, 'a.yaml'), account('one'))
    const { source, changes } = await run({ times: slowPolls })
    await rename(join(folder, 'a.yaml'), join(folder, 'z.yaml'))
    await eventually(() => {
      expect(source.locate(makeObjectKey('ServiceAccount', 'default', 'one'))).toMatchObject({
        file: join(folder, 'z.yaml'),
      })
    })
    expect(source.problems()).toEqual([])
    expect(changes.flatMap((change) => change.deletes)).toEqual([])
  })

  it('names both places of a duplicate and lets the first hold', async () => {
    await writeFile(join(folder, 'b.yaml'), account('one', 'b'))
    await writeFile(join(folder, 'a.yaml'), `${account('other')}---\n${account('one', 'a')}`)
    const { source } = await run()
    expect(source.objects().find(({ metadata }) => metadata.name === 'one')?.metadata.labels).toEqual({ v: 'a' })
    expect(source.problems().map(formatProblem)).toEqual([
      `${join(folder, 'b.yaml')}:1:1: error: ServiceAccount default/one: is also defined at ${join(folder, 'a.yaml')}:7, ` +
        'which takes precedence; remove one of the two [OSM_SPEC_DUPLICATE]',
    ])
    await unlink(join(folder, 'a.yaml'))
    await eventually(() => {
      expect(source.objects().map(({ metadata }) => metadata.labels)).toEqual([{ v: 'b' }])
    })
    expect(source.problems()).toEqual([])
  })

  it('watches directories that come later and forgets those that go', async () => {
    const { source } = await run()
    await mkdir(join(folder, 'new', 'deeper'), { recursive: true })
    await writeFile(join(folder, 'new', 'deeper', 'a.yaml'), account('one'))
    await eventually(() => {
      expect(names(source.objects())).toEqual(['ServiceAccount/default/one'])
    })
    await writeFile(join(folder, 'new', 'deeper', 'b.yaml'), account('two'))
    await eventually(() => {
      expect(names(source.objects())).toEqual(['ServiceAccount/default/one', 'ServiceAccount/default/two'])
    })
    await rm(join(folder, 'new'), { recursive: true })
    await eventually(() => {
      expect(source.objects()).toEqual([])
    })
  })

  it('follows links out of the folder and ends loops', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'yaml-outside-'))
    try {
      await writeFile(join(outside, 'o.yaml'), account('outside'))
      await mkdir(join(folder, 'sub'))
      await writeFile(join(folder, 'sub', 'a.yaml'), account('inside'))
      await symlink(folder, join(folder, 'sub', 'loop'))
      await symlink(outside, join(folder, 'link'))
      await symlink(join(folder, 'nowhere'), join(folder, 'broken.yaml'))
      const { source } = await run()
      expect(names(source.objects())).toEqual(['ServiceAccount/default/inside', 'ServiceAccount/default/outside'])
      expect(source.problems()).toEqual([])
      await writeFile(join(outside, 'p.yaml'), account('later'))
      await eventually(() => {
        expect(names(source.objects())).toContain('ServiceAccount/default/later')
      })
    } finally {
      await rm(outside, { recursive: true, force: true })
    }
  })

  it('sees the swap of links by which volumes of ConfigMaps are updated', async () => {
    const version = async (name: string, text: string): Promise<void> => {
      await mkdir(join(folder, name))
      await writeFile(join(folder, name, 'a.yaml'), text)
      await symlink(name, join(folder, '..data_tmp'))
      await rename(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    await version('..1', account('one', '1'))
    await symlink(join('..data', 'a.yaml'), join(folder, 'a.yaml'))
    const { source } = await run()
    expect(source.objects()[0]?.metadata.labels).toEqual({ v: '1' })
    await version('..2', account('one', '2'))
    await eventually(() => {
      expect(source.objects()[0]?.metadata.labels).toEqual({ v: '2' })
    })
  })

  it('finds by polling what no event told', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'yaml-outside-'))
    try {
      await writeFile(join(outside, 'o.yaml'), account('one', '1'))
      await symlink(join(outside, 'o.yaml'), join(folder, 'a.yaml'))
      const { source } = await run({ times: { pollMs: 50 } })
      // The link does not change, and the directory it leads to is not watched.
      await writeFile(join(outside, 'o.yaml'), account('one', '2'))
      await eventually(() => {
        expect(source.objects()[0]?.metadata.labels).toEqual({ v: '2' })
      })
    } finally {
      await rm(outside, { recursive: true, force: true })
    }
  })

  it('refuses files beyond the size limit and keeps what they held', async () => {
    await writeFile(join(folder, 'a.yaml'), account('one'))
    const { source } = await run()
    await writeFile(join(folder, 'a.yaml'), `${account('one', 'x')}# ${'x'.repeat(10 * 1024 * 1024)}\n`)
    await eventually(() => {
      expect(source.problems()).toMatchObject([{ code: 'OSM_SPEC_FILE', origin: { file: join(folder, 'a.yaml') } }])
    })
    expect(source.objects().map(({ metadata }) => metadata.labels)).toEqual([{ v: '' }])
  })

  it('keeps everything when the folder itself vanishes, and picks up again when it is back', async () => {
    await writeFile(join(folder, 'a.yaml'), account('one'))
    const { source } = await run({ times: { pollMs: 50 } })
    await rename(folder, `${folder}-away`)
    await eventually(() => {
      expect(source.problems()).toMatchObject([{ code: 'OSM_SPEC_FOLDER' }])
    })
    expect(names(source.objects())).toEqual(['ServiceAccount/default/one'])
    await rename(`${folder}-away`, folder)
    await writeFile(join(folder, 'b.yaml'), account('two'))
    await eventually(() => {
      expect(names(source.objects())).toEqual(['ServiceAccount/default/one', 'ServiceAccount/default/two'])
    })
    expect(source.problems()).toEqual([])
  })

  it('refuses to start without its folder', async () => {
    const source = new YamlFolderSource({ folder: join(folder, 'missing') })
    await expect(source.start(stop.signal)).rejects.toMatchObject({ code: 'OSM_SPEC_FOLDER' })
  })

  it('stops with its signal and releases all watches', async () => {
    const { source, changes } = await run()
    const watches = (): number => process.getActiveResourcesInfo().filter((type) => type === 'FSEventWrap').length
    expect(watches()).toBeGreaterThan(0)
    stop.abort()
    await source.finished()
    await eventually(() => {
      expect(watches()).toBe(0)
    })
    await writeFile(join(folder, 'a.yaml'), account('one'))
    expect(changes).toEqual([])
  })

  it('goes on when a listener throws, and says so', async () => {
    const faults: unknown[] = []
    const { source, changes } = await run({ onFault: (error) => faults.push(error) })
    source.subscribe(() => {
      throw new Error('listener')
    })
    const last: SourceChange[] = []
    const end = source.subscribe((change) => last.push(change))
    await writeFile(join(folder, 'a.yaml'), account('one'))
    await eventually(() => {
      expect(last).toHaveLength(1)
    })
    end()
    await writeFile(join(folder, 'b.yaml'), account('two'))
    await eventually(() => {
      expect(changes).toHaveLength(2)
    })
    expect(last).toHaveLength(1)
    expect(faults).toHaveLength(2)
  })

  it('comes to the state of a fresh load after any storm of edits', async () => {
    const files = ['a.yaml', 'b.yaml', 'sub/c.yaml']
    const operation = fc.oneof(
      fc.record({
        write: fc.constantFrom(...files),
        text: fc.constantFrom(
          account('one', '1'),
          `${account('one', '2')}---\n${account('two')}`,
          account('three').slice(0, 30),
          'kind: "broken',
          '',
          split('s', 'many'),
        ),
      }),
      fc.record({ remove: fc.constantFrom(...files) }),
      fc.record({ move: fc.constantFrom(...files), to: fc.constantFrom(...files) }),
    )
    const last = fc.record(
      {
        'a.yaml': fc.constantFrom(account('one', '1'), split('s', '1')),
        'sub/c.yaml': fc.constantFrom(account('two'), split('s', '2')),
      },
      { requiredKeys: [] },
    )
    await mkdir(join(folder, 'sub'))
    const { source } = await run({ times: { pollMs: 60_000, settleMs: 5, graceMs: 20, debounceMs: 2 } })
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 12 }), last, async (operations, final) => {
        for (const it of operations) {
          if ('write' in it) await writeFile(join(folder, it.write), it.text)
          else if ('remove' in it) await rm(join(folder, it.remove), { force: true })
          else await rename(join(folder, it.move), join(folder, it.to)).catch(() => undefined)
        }
        for (const file of files) {
          const text = new Map(Object.entries(final)).get(file)
          if (text === undefined) await rm(join(folder, file), { force: true })
          else await writeFile(join(folder, file), text)
        }
        const fresh = new YamlFolderSource({ folder })
        const stopFresh = new AbortController()
        await fresh.start(stopFresh.signal)
        stopFresh.abort()
        await fresh.finished()
        await eventually(() => {
          expect(names(source.objects())).toEqual(names(fresh.objects()))
          expect(source.problems()).toEqual(fresh.problems())
        })
        for (const object of fresh.objects())
          expect(source.objects().find((it) => objectKey(it) === objectKey(object))).toMatchObject({
            metadata: object.metadata,
            spec: object.spec,
          })
      }),
      { numRuns: 20 },
    )
  })

  it('keeps kinds of users and of the supervisor apart', async () => {
    const instance = {
      apiVersion: 'standalone.openservicemesh.io/v1alpha1',
      kind: 'WorkloadInstance',
      metadata: { name: 'i' },
    }
    await writeFile(join(folder, 'a.json'), JSON.stringify(instance))
    await writeFile(join(folder, 'b.yaml'), account('one'))
    const user = await run()
    expect(user.source.problems()).toEqual(
      expect.arrayContaining([expect.objectContaining({ code: 'OSM_SPEC_KIND_INTERNAL', field: 'kind' })]),
    )
    const runtime = await run({ writtenBy: 'runtime' })
    expect(runtime.source.objects()).toEqual([])
    expect(runtime.source.problems()).toEqual(
      expect.arrayContaining([expect.objectContaining({ code: 'OSM_SPEC_KIND_INTERNAL', object: expect.anything() })]),
    )
  })
})

describe('objects of kinds of others in a folder', () => {
  const text = (name: string, spec = '{ service: web }', kind = 'CloudResource', group = 'cloud.example.com') =>
    `apiVersion: ${group}/v1\nkind: ${kind}\nmetadata: { name: ${name}, namespace: shop }\nspec: ${spec}\n`

  it('are held and followed where the source is told to, and are reported where it is not', async () => {
    await writeFile(join(folder, 'a.yaml'), `${text('a')}---\n${text('b')}`)
    const { source } = await run({ holdsOtherKinds: true })
    let told = 0
    source.onOthers(() => (told += 1))
    const names = () => source.others().map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`)
    expect(names()).toEqual(['CloudResource shop/a', 'CloudResource shop/b'])
    expect(source.problems()).toEqual([])
    await writeFile(join(folder, 'a.yaml'), text('a', '{ service: other }'))
    await eventually(() => expect(source.others()).toMatchObject([{ name: 'a', spec: { service: 'other' } }]))
    expect(told).toBe(1)
    const { source: plain } = await run()
    expect(plain.problems()).toMatchObject([{ code: 'OSM_SPEC_KIND', severity: 'warning' }])
    expect(plain.others()).toEqual([])
  })

  it('keep to their last good version while a file is broken, and say what is wrong', async () => {
    await writeFile(join(folder, 'a.yaml'), text('a'))
    const { source } = await run({ holdsOtherKinds: true })
    await writeFile(join(folder, 'a.yaml'), `${text('a')}  : [`)
    await eventually(() => expect(source.problems()).toMatchObject([{ code: 'OSM_SPEC_SYNTAX' }]))
    expect(source.others()).toHaveLength(1)
    await writeFile(join(folder, 'a.yaml'), `${text('a')}---\n${text('c', 'text')}`)
    await writeFile(join(folder, 'b.yaml'), `${text('a')}---\n${text('x', '{}', 'TraficSplit', 'split.smi-spec.io')}`)
    await eventually(() =>
      expect(source.problems().map(({ code, object }) => `${code} ${object?.name ?? ''}`)).toEqual([
        'OSM_SPEC_OBJECT c',
        'OSM_SPEC_DUPLICATE a',
        'OSM_SPEC_KIND ',
      ]),
    )
    expect(source.others().map(({ name }) => name)).toEqual(['a'])
  })
})
