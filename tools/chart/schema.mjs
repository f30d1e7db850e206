import { forms } from './forms.mjs'

/** @typedef {import('./values.mjs').ChartValue} ChartValue */
/** @typedef {import('./forms.mjs').JsonSchema} JsonSchema */

/**
 * The JSON Schema of the chart's values. Nothing is required, because Helm merges the defaults in before it looks; unknown
 * keys are refused, so that a mistyped value is never taken for a default.
 * @param {readonly ChartValue[]} values
 * @returns {JsonSchema}
 */
export function valuesSchema(values) {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart osm',
    ...objectSchema(values),
    properties: {
      ...propertiesOf(values),
      // Helm puts it beside the values of every chart that is part of another.
      global: { type: 'object' },
      ...formerValues[''],
    },
  }
}

/**
 * Values of OSM and osm-edge that have no place here, by what they stand in. The schema takes them, so that the templates can say what to do about them
 * where they would request something (charts/osm/templates/_minimums.tpl).
 * @type {Readonly<Record<string, Record<string, JsonSchema>>>}
 */
const formerValues = {
  '': { OpenServiceMesh: {} },
  osm: { sidecarDisabledMTLS: {}, enableSPIFFE: {} },
  'osm.featureFlags': { enableSPIFFE: {} },
}

/** @param {readonly ChartValue[]} values */
function objectSchema(values) {
  return { type: 'object', additionalProperties: false, properties: propertiesOf(values) }
}

/** @param {readonly ChartValue[]} values */
function propertiesOf(values) {
  return Object.fromEntries(values.map((value) => [lastKey(value.path), schemaOf(value)]))
}

/**
 * @param {ChartValue} value
 * @returns {JsonSchema}
 */
function schemaOf(value) {
  const description = value.description
  const form = value.form === undefined ? {} : forms[value.form]
  if (form === undefined) throw new Error(`values.yaml: ${value.path}: forms.mjs has no form "${value.form}"`)
  if (value.children.length > 0) {
    const { properties, ...object } = objectSchema(value.children)
    return { description, ...object, properties: { ...properties, ...formerValues[value.path] }, ...form }
  }
  return { description, ...typeOf(value), ...form, ...value.refinement }
}

/** @param {ChartValue} value */
function typeOf({ path, default: given }) {
  if (typeof given === 'string' || typeof given === 'boolean') return { type: typeof given }
  if (typeof given === 'number') return { type: Number.isInteger(given) ? 'integer' : 'number' }
  if (Array.isArray(given)) return { type: 'array' }
  if (typeof given === 'object' && given !== null) return { type: 'object' }
  throw new Error(`values.yaml: ${path} has a default of no known type`)
}

/** @param {string} path */
function lastKey(path) {
  return path.slice(path.lastIndexOf('.') + 1)
}
