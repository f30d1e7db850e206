import { parse } from 'acorn'

import { readLogFormat } from '../../packages/core/src/spec/log-format.js'
import { guardedScript } from '../../packages/driver-pipy/src/plugins/guarded-script.js'
import { readPluginReport } from '../../packages/driver-pipy/src/server/plugin-report.js'
import { codebasePath, readTarget } from '../../packages/driver-pipy/src/server/request-target.js'
import { readStatusReport } from '../../packages/driver-pipy/src/server/status-report.js'
import { logFormat } from '../../packages/driver-pipy/src/translate/log-format.js'
import { type FuzzTarget, invariant, isRecord, jsonOf, textOf } from '../fuzz-target.js'

const repo = '/repo/osm-edge-sidecar/'

/** What workers of class pipy send, and what users give them. */
export const pipyTargets: readonly FuzzTarget[] = [
  {
    name: 'repo-target',
    about:
      'Targets of requests to the repo server: one text for one thing, no dot segment, no escape, and a codebase that is named exactly.',
    form: 'text',
    words: [repo, '/config', '/plugins', '?rev=', '%2e%2e', '..', '_etags', 'main.js', '//'],
    run: (input) => {
      const url = textOf(input)
      const target = readTarget(url)
      switch (target?.kind) {
        case 'file':
          invariant(url === `${repo}${target.codebase}${target.path}`, 'two texts for one file')
          invariant(!/(^|\/)\.\.?(\/|$)|%|\\/.test(target.path), 'a path that leaves its folder')
          break
        case 'manifest':
          invariant(url === `${repo}${target.codebase}/`, 'two texts for one manifest')
          break
        case 'etags':
        case 'config':
        case 'plugins':
        case undefined:
      }
      return target?.kind === 'config' ? [...target.query] : target
    },
  },
  {
    name: 'repo-codebase',
    about: 'Codebases of proxies: the path that a proxy is given reads as its own manifest.',
    form: 'json',
    words: ['uuid', 'identity', '.sidecar.', 'books.shop'],
    run: (input) => {
      const document = jsonOf(input)
      if (!isRecord(document) || typeof document['uuid'] !== 'string' || typeof document['identity'] !== 'string')
        return undefined
      const { uuid, identity } = document as { uuid: string; identity: string }
      const target = readTarget(codebasePath({ uuid, identity }))
      if (target?.kind === 'manifest')
        invariant(target.codebase === `${uuid}.sidecar.${identity}`, 'the codebase of another proxy')
      return target
    },
  },
  {
    name: 'worker-status',
    about: 'Status reports of workers: short texts, or nothing.',
    form: 'json',
    words: ['version', 'since', 'uuid', 'timestamp'],
    run: (input) => {
      const report = readStatusReport(input)
      if (report !== undefined) invariant(report.version.length <= 128 && report.since.length <= 128, 'a long status')
      return report
    },
  },
  {
    name: 'worker-plugins',
    about: 'Reports of failing plugins: bounded, and without keys.',
    form: 'json',
    words: ['plugin', 'isLoaded', 'failures', 'error', '-----BEGIN PRIVATE KEY-----'],
    run: (input) => {
      const faults = readPluginReport(input)
      invariant((faults?.length ?? 0) <= 256, 'too many faults')
      for (const { error } of faults ?? [])
        invariant(
          !error.includes('-----BEGIN PRIVATE KEY-----') && error.length <= 4096,
          'the words of a worker are shown as they are',
        )
      return faults
    },
  },
  {
    name: 'plugin-script',
    about:
      'Scripts of plugins: what is accepted is still a script with the same number of lines, and takes a step wherever it could run without end.',
    form: 'text',
    words: [
      'export function ',
      '() => ',
      'for (var i = 0; i < 9; i = i + 1)',
      '`${',
      '}`',
      'var ',
      '/*',
      '*/',
      '//',
      'import(',
      '__osmStep',
      'new RegExp',
      '=> ({})',
    ],
    budgetMs: 200,
    run: (input) => {
      const script = textOf(input)
      const guarded = guardedScript(script)
      if ('fault' in guarded) {
        invariant(guarded.fault.length < 4096, 'a long fault')
        return guarded
      }
      parse(guarded.text, { ecmaVersion: 2022, sourceType: 'module' })
      invariant(guarded.text.split('\n').length === script.split('\n').length, 'lines have other numbers')
      return guarded
    },
  },
  {
    name: 'pipy-log-format',
    about: 'Formats of access logs that the mesh accepts: class pipy reads each of them, piece by piece.',
    form: 'text',
    words: ['%REQ(', ')%', '%START_TIME%', '%%', '?:PATH', ':12', '{"a":"', '"}'],
    run: (input) => {
      const read = readLogFormat(textOf(input))
      if (read.kind === 'fault') return read
      const refused: string[] = []
      const reader = {
        refuse: (_ref: unknown, _pointer: string, message: string) => refused.push(message),
      } as unknown as Parameters<typeof logFormat>[1]
      const mesh = { kind: 'mesh', id: 'mesh', hash: 'h' } as unknown as Parameters<typeof logFormat>[2]
      const format = logFormat({ enabled: true, format: read.kind, template: read.template }, reader, mesh)
      if (format !== undefined && 'line' in format)
        for (const piece of format.line)
          invariant(typeof piece === 'string' || piece.command !== '', 'a command that is not read')
      return { format, refused }
    },
  },
]
