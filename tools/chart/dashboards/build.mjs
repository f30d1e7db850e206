/**
 * @typedef {object} Panel
 * @property {string} title
 * @property {string} unit as Grafana names it
 * @property {readonly (readonly [expr: string, legend: string])[]} queries
 * @property {'timeseries' | 'stat'} [type] timeseries if absent
 *
 * @typedef {object} Variable
 * @property {string} name
 * @property {string} label
 * @property {string} query `label_values(<selector>, <label>)`
 *
 * @typedef {object} Dashboard
 * @property {string} name of the file, and its uid
 * @property {string} title
 * @property {string} description
 * @property {readonly Variable[]} [variables]
 * @property {readonly Panel[]} panels
 */

const COLUMNS = 24
const WIDTH = 12
const HEIGHT = 8
/** Grafana 10 and newer read it; newer versions upgrade it when they load it. */
const SCHEMA_VERSION = 39
const source = { type: 'prometheus', uid: '${datasource}' }

/**
 * A dashboard as Grafana provisions it from a file.
 * @param {Dashboard} dashboard
 */
export function dashboardJson({ name, title, description, variables = [], panels }) {
  return {
    uid: name,
    title,
    description,
    tags: ['osm'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    refresh: '30s',
    time: { from: 'now-30m', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        ...variables.map(variableJson),
      ],
    },
    panels: panels.map(panelJson),
  }
}

/** @param {Variable} variable */
function variableJson({ name, label, query }) {
  return {
    name,
    label,
    type: 'query',
    datasource: source,
    query: { query, refId: name },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: 'All', value: '$__all' },
  }
}

/**
 * @param {Panel} panel
 * @param {number} at
 */
function panelJson({ title, unit, queries, type = 'timeseries' }, at) {
  const perRow = COLUMNS / WIDTH
  return {
    id: at + 1,
    title,
    type,
    datasource: source,
    gridPos: { x: (at % perRow) * WIDTH, y: Math.floor(at / perRow) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: type === 'stat' ? { reduceOptions: { calcs: ['lastNotNull'] } } : { tooltip: { mode: 'multi' } },
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: source,
      expr,
      legendFormat,
    })),
  }
}
