import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { LineCounter, type Document, isNode, parseDocument } from 'yaml'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import {
  type Expectation,
  ScenarioSchema,
  expectationSchemas,
  type Scenario,
  type ScenarioMode,
  scenarioModes,
  StepSchema,
} from './format.js'
import { changeObjects, keyed } from './objects.js'

// Beside src as beside dist.
const folder = new URL('../../scenarios/', import.meta.url)

/** All scenarios, by name. Throws with every fault of every file. */
export function readScenarios(): readonly Scenario[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
  const faults: string[] = []
  const scenarios = files.flatMap((file) => {
    try {
      return [readScenario(file, readFileSync(new URL(file, folder), 'utf8'))]
    } catch (error) {
      faults.push(errorMessage(error))
      return []
    }
  })
  if (faults.length > 0) throw new Error(faults.join('\n'))
  return scenarios
}

/** Those of a mode, with the same workloads one after the other: such workloads may keep running from one to the next. Throws as {@link readScenarios} does. */
export function scenariosOf(mode: ScenarioMode): readonly Scenario[] {
  const scenarios = readScenarios().filter(({ modes }) => modes.includes(mode))
  const key = ({ workloads }: Scenario): string => JSON.stringify(workloads)
  return [...new Set(scenarios.map(key))].flatMap((group) => scenarios.filter((scenario) => key(scenario) === group))
}

/** Reads one file. Throws with a line for each fault: file, line, field, and what is wrong with it. */
export function readScenario(file: string, text: string): Scenario {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [syntax] = document.errors
  if (syntax !== undefined) throw new Error(`${file}: ${syntax.message}`)
  const value: unknown = document.toJS()
  const where = (pointer: string): string => `${file}:${lineOf(document, lines, pointer)}: ${fieldOf(pointer)}`
  const faults = [...faultsOf(ScenarioSchema, value, ''), ...modeFaults(value), ...expectationFaults(value)]
  if (faults.length > 0)
    throw new Error(faults.map(({ pointer, message }) => `${where(pointer)}: ${message}`).join('\n'))
  const scenario = value as Scenario
  const removal = removalFault(scenario)
  if (removal !== undefined) throw new Error(`${where(removal.pointer)}: ${removal.message}`)
  return {
    ...scenario,
    name: basename(file, '.yaml'),
    steps: scenario.steps.map((step) => ({ ...step, expect: step.expect.map(withKind) })),
  }
}

interface Fault {
  readonly pointer: string
  readonly message: string
}

function faultsOf(schema: TSchema, value: unknown, above: string): readonly Fault[] {
  const seen = new Set<string>()
  return [...Value.Errors(schema, value)].flatMap(({ path, message, schema: expected }) => {
    if (seen.has(path)) return []
    seen.add(path)
    const properties = message === 'Unexpected property' ? (expected.properties as object) : undefined
    const hint = properties === undefined ? expected.description : `known: ${Object.keys(properties).join(', ')}`
    return [{ pointer: `${above}${path}`, message: hint === undefined ? message : `${message} (${hint})` }]
  })
}

/** Anyone who leaves out a mode has a reason. */
function modeFaults(value: unknown): readonly Fault[] {
  const { modes, without = {} } = (value ?? {}) as { readonly modes?: unknown; readonly without?: object }
  if (!Array.isArray(modes)) return []
  return scenarioModes
    .filter((mode) => modes.includes(mode) === Object.hasOwn(without, mode))
    .map((mode) => ({
      pointer: '/modes',
      message: `${mode} has to be a mode, or to have a reason in "without": one of the two`,
    }))
}

/** Faults of expectations, each held against the schema of its kind alone: a union would name them all. */
function expectationFaults(value: unknown): readonly Fault[] {
  const { steps } = value as { readonly steps?: readonly { readonly expect?: readonly object[] }[] }
  if (!Array.isArray(steps)) return []
  return steps.flatMap((step, stepIndex) => {
    if (!Value.Check(StepSchema, step)) return []
    return step.expect.flatMap((expectation, index) => {
      const pointer = `/steps/${stepIndex}/expect/${index}`
      const kind = kindOf(expectation)
      return kind === undefined
        ? [{ pointer, message: `needs exactly one of ${Object.keys(expectationSchemas).join(', ')}` }]
        : faultsOf(expectationSchemas[kind], expectation, pointer)
    })
  })
}

/** The first step that removes what is not there: on a runner it would fail only once the mesh has got so far. */
function removalFault({ objects = [], steps }: Scenario): Fault | undefined {
  const there = keyed(objects)
  for (const [index, step] of steps.entries())
    try {
      changeObjects(there, step)
    } catch (error) {
      return { pointer: `/steps/${index}/remove`, message: errorMessage(error) }
    }
  return undefined
}

function kindOf(expectation: object): keyof typeof expectationSchemas | undefined {
  const kinds = Object.keys(expectationSchemas) as (keyof typeof expectationSchemas)[]
  const [kind, another] = kinds.filter((each) => Object.hasOwn(expectation, each))
  return another === undefined ? kind : undefined
}

function withKind(expectation: object): Expectation {
  return { ...expectation, kind: kindOf(expectation) } as Expectation // its schema has been checked
}

function lineOf(document: Document, lines: LineCounter, pointer: string): number {
  const path = pointer.split('/').slice(1)
  for (let length = path.length; length > 0; length -= 1) {
    const node: unknown = document.getIn(
      path.slice(0, length).map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
      true,
    )
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
}

function fieldOf(pointer: string): string {
  return pointer === ''
    ? 'scenario'
    : pointer
        .slice(1)
        .replaceAll(/\/(\d+)/g, '[$1]')
        .replaceAll('/', '.')
}
