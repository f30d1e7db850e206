import { describe, expect, it } from '@jest/globals'
import { OsmError } from '@osm-ts/driver-api'
import fc from 'fast-check'

import { KeptOutput } from '../../test/fake-context.js'
import { toJUnit } from '../analyze/reports.js'
import { toText } from '../commands/cli-command.js'
import { writeJoinEvent } from '../machine/join-events.js'
import { describeError } from '../run-cli.js'
import { toJson, toJsonLine } from './format.js'
import { renderSpans, shownText, span } from './style.js'
import { toYaml } from './to-yaml.js'
import { parse } from './yaml-library.js'

/** Clears the screen, in two forms; writes from right to left; hides text; and sets the title of the window. */
const HOSTILE = 'a\u001B[2Jb\u009B2Jc\u202Ed\u2066e\u200Bf\u2028g\u007Fh\u{E0041}i\u001B]0;x\u0007j\rk'
const STEERING = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u
const VALUE = { [HOSTILE]: [HOSTILE, `two\nlines ${HOSTILE}`], plain: 'é 中 "quoted" \\u202e', empty: '' }

describe('text that others wrote', () => {
  it('steers no terminal in JSON, and is read back as it was', () => {
    for (const text of [toJson(VALUE), toJsonLine(VALUE)]) {
      expect(text).not.toMatch(STEERING)
      expect(JSON.parse(text)).toEqual(VALUE)
      expect(text).toContain('é 中')
    }
  })

  it('steers no terminal in YAML, and is read back as it was', () => {
    for (const form of [
      {},
      { lineWidth: 0 },
      { lineWidth: 0, compat: 'yaml-1.1', aliasDuplicateObjects: false } as const,
    ]) {
      const text = toYaml(VALUE, form)
      expect(text).not.toMatch(STEERING)
      expect(parse(text)).toEqual(VALUE)
      expect(text).toContain('plain: é 中')
    }
  })

  it('steers no terminal in a report for CI', () => {
    const text = toJUnit([{ code: 'OSM_X', severity: 'error', message: HOSTILE }])
    expect(text).not.toMatch(STEERING)
    expect(text).toContain('d&#8294;e')
  })

  it('is read back from JSON and YAML, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const value = { [`k${text}`]: text }
        expect(JSON.parse(toJson(value))).toEqual(value)
        expect(parse(toYaml(value))).toEqual(value)
        expect(`${toJson(value)}${toYaml(value)}`).not.toMatch(STEERING)
      }),
    )
  })

  it('steers no terminal in lines, which keep their emphasis', () => {
    const rendered = renderSpans([span('bad', 'bad'), span(HOSTILE)], true)
    expect(toText([rendered])).toBe(`${rendered}\n`)
    expect(rendered).toContain('\u001B[31mbad\u001B[0m')
    const text = toText([`plain ${HOSTILE}`, '\u001B[31mred\u001B[0m \u001B[8mhidden'])
    expect(text).toContain('\n\u001B[31mred\u001B[0m ·[8mhidden\n')
    expect(text.replaceAll('\u001B[31m', '').replaceAll('\u001B[0m', '')).not.toMatch(STEERING)
  })

  it('steers no terminal in errors', () => {
    const error = new OsmError('OSM_X_Y', HOSTILE, { details: { hint: HOSTILE }, cause: new Error(HOSTILE) })
    for (const verbose of [false, true]) expect(describeError(error, verbose)).not.toMatch(STEERING)
    expect(describeError(new Error(HOSTILE), false)).not.toMatch(STEERING)
  })

  it('steers no terminal in events of a machine', () => {
    const [stdout, stderr] = [new KeptOutput(), new KeptOutput()]
    const streams = { stdout: stdout.stream(), stderr: stderr.stream() }
    writeJoinEvent(streams, { type: 'problem', message: HOSTILE }, false)
    writeJoinEvent(streams, { type: 'problem', message: HOSTILE }, true)
    expect(stderr.text).not.toMatch(STEERING)
    expect(stdout.text).not.toMatch(STEERING)
  })

  it('of a sidecar steers no terminal, and reaches files and programs as it is', () => {
    expect(shownText(`one\t1\n${HOSTILE}\n`, { isTTY: true }).replaceAll('\t', '')).not.toMatch(STEERING)
    expect(shownText(HOSTILE, { isTTY: false })).toBe(HOSTILE)
  })
})
