/**
 * Makes what is derived from the schemas of the mesh's kinds: packages/bootstrap/crds, for people and for kubectl, and the
 * page docs/reference/crds.md. Both are committed, so that a change of a schema shows what it does to clusters.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { renderCrdReference } from './lib/crd-reference.mjs'
import { loadMeshSchemas } from './lib/mesh-schemas.mjs'
import { root } from './lib/paths.mjs'

const definitionsFolder = 'packages/bootstrap/crds'
/** Beside the templates: the chart installs those whose provider is in its list. */
const providerFolder = 'charts/osm/provider-crds'
const referencePath = 'docs/reference/crds.md'

/**
 * Compares the derived files with the schemas.
 * @param {{ fix: boolean, base?: string }} options fix writes the files
 * @returns {Promise<string[]>} what is wrong
 */
export async function checkCustomResources({ fix, base = root }) {
  const expected = await deriveFiles()
  const stale = [...expected].flatMap(([path, text]) => (readIfThere(join(base, path)) === text ? [] : [path]))
  const left = filesIn(join(base, definitionsFolder))
    .map((name) => `${definitionsFolder}/${name}`)
    .filter((path) => !expected.has(path))
  if (!fix) {
    return [
      ...stale.map((path) => `${path} differs from the schemas in packages/core/src/spec`),
      ...left.map((path) => `${path} belongs to no kind of the mesh`),
    ]
  }
  for (const path of stale) {
    mkdirSync(dirname(join(base, path)), { recursive: true })
    writeFileSync(join(base, path), expected.get(path) ?? '')
  }
  for (const path of left) rmSync(join(base, path))
  return []
}

/** @returns {Promise<ReadonlyMap<string, string>>} texts by path relative to the root */
async function deriveFiles() {
  const schemas = await loadMeshSchemas()
  const definitions = schemas.customResourceDefinitions().map((definition) => {
    // kubectl reads YAML 1.1, in which an unquoted off is no text.
    const text = schemas.stringify(definition, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false })
    const head = '# Made from packages/core/src/spec by `npm run check -- crds --fix`; change the schemas there.\n'
    return /** @type {const} */ ([`${definitionsFolder}/${definition.metadata.name}.yaml`, head + text])
  })
  const ofProviders = [schemas.azureResource, schemas.awsResource].map((kind) => {
    const definition = schemas.providerKindDefinition(kind)
    const text = schemas.stringify(definition, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false })
    const head = '# Made from the kind of the endpoints provider by `npm run check -- crds --fix`; change it there.\n'
    return /** @type {const} */ ([`${providerFolder}/${definition.metadata.name}.yaml`, head + text])
  })
  return new Map([...definitions, ...ofProviders, [referencePath, renderCrdReference(schemas)]])
}

/** @param {string} path */
function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** @param {string} folder */
function filesIn(folder) {
  return existsSync(folder) ? readdirSync(folder).sort() : []
}
