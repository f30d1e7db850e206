import { join } from 'node:path'
import { build } from 'esbuild'
import { sourceAliases } from './bundle.mjs'
import { root } from './paths.mjs'

/**
 * @typedef {object} MeshSchemas
 * @property {() => readonly import('../../packages/kubernetes/src/crd/custom-resource-definition.js').CustomResourceDefinition[]} customResourceDefinitions
 * @property {typeof import('../../packages/kubernetes/src/crd/stored-form.js').adjustmentsOf} adjustmentsOf
 * @property {typeof import('../../packages/kubernetes/src/crd/stored-form.js').adjustedPaths} adjustedPaths
 * @property {typeof import('../../packages/core/src/spec/schema/kinds.js').kindDefinitions} kindDefinitions
 * @property {typeof import('../../packages/kubernetes/src/crd/provider-kind-definition.js').providerKindDefinition} providerKindDefinition
 * @property {import('@osm-ts/endpoints-api').ResourceKind} azureResource
 * @property {import('@osm-ts/endpoints-api').ResourceKind} awsResource
 * @property {(value: unknown, options: { readonly version: '1.1', readonly lineWidth: number, readonly aliasDuplicateObjects: boolean }) => string} stringify as YAML
 */

const entry = `
export { customResourceDefinitions } from '../kubernetes/src/crd/custom-resource-definitions.js'
export { adjustedPaths, adjustmentsOf } from '../kubernetes/src/crd/stored-form.js'
export { kindDefinitions } from './src/spec/schema/kinds.js'
export { providerKindDefinition } from '../kubernetes/src/crd/provider-kind-definition.js'
export { azureResource } from '../endpoints-azure/src/resource-kind.js'
export { awsResource } from '../endpoints-aws/src/resource-kind.js'
export { stringify } from 'yaml'
`

/**
 * The schemas of core and their definitions for an API server, read from the sources as they are now: what was compiled last may be older.
 * @returns {Promise<MeshSchemas>}
 */
export async function loadMeshSchemas() {
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: { contents: entry, resolveDir: join(root, 'packages/core'), loader: 'ts' },
    alias: sourceAliases(),
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
    // yaml requests its own parts as CommonJS does.
    banner: { js: "import { createRequire } from 'node:module'\nconst require = createRequire('file:///')" },
  })
  const [bundle] = outputFiles
  return import(`data:text/javascript;base64,${Buffer.from(bundle?.text ?? '').toString('base64')}`)
}
