import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

import { chartFolder } from '../chart/render.js'

/** The rules of the chart. */
export const rulesFile = join(chartFolder, 'rules/osm.yaml')
const dashboards = join(chartFolder, 'dashboards')

/** Names of the files of all dashboards. */
export const dashboardFiles = readdirSync(dashboards)

/** An expression, and where it is written down. */
export type Query = readonly [place: string, expression: string]

interface Rule {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
}

interface Dashboard {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string | { readonly query: string } }[]
  }
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[]
}

/** Each recording rule, and the series that it makes. */
export function recordingQueries(): readonly Query[] {
  return rules().flatMap(({ record, expr }): Query[] =>
    record === undefined
      ? []
      : [
          [record, record],
          [record, expr],
        ],
  )
}

/** What each alert looks at: the comparison says whether it holds instead of dropping series, and what must not be absent is there. */
export function alertQueries(): readonly Query[] {
  const looksAt = (expression: string): string =>
    expression.replace(/^absent\((.*)\)$/, '$1').replaceAll(/ (==|!=|[<>]=?) /g, ' $1 bool ')
  return rules().flatMap(({ alert, expr }): Query[] => (alert === undefined ? [] : [[alert, looksAt(expr)]]))
}

/** Expressions of the panels of a dashboard with every variable at `All`, and the selectors of variables. */
export function dashboardQueries(file: string): readonly Query[] {
  const { templating, panels } = JSON.parse(readFileSync(join(dashboards, file), 'utf8')) as Dashboard
  const ofVariables = templating.list.flatMap(({ name, query }): Query[] => {
    if (typeof query === 'string') return []
    const [, selector, label] = /^label_values\((.+), (\w+)\)$/.exec(query.query) ?? []
    return [[`variable ${name}`, `${String(selector)}{${String(label)}!=""}`]]
  })
  const ofPanels = panels.flatMap(({ title, targets }) =>
    targets.map(({ expr }): Query => [title, expr.replaceAll(/\$\w+/g, '.*')]),
  )
  return [...ofVariables, ...ofPanels]
}

function rules(): readonly Rule[] {
  const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[]
  }
  return groups.flatMap(({ rules: all }) => all)
}
